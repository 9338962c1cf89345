#include "limiter/wire/health/board_entry.h"

#include "limiter/zone.h"
#include "redis/keys/shard_choice.h"

namespace rate_limit {

namespace {

/// How often something that there was no room for is tried again, in milliseconds.
constexpr Msec try_interval = 60'000;

using Names = NodeBoard::Names;
static_assert(Counters<NodeCount>::names <= NodeBoard::most_names);

Names names_of(const Subject& subject) noexcept {
    Names names{};
    std::size_t count = 0;
    Counters<NodeCount>::for_each_name(subject,
                                       [&](CounterTable::Name name) { names[count++] = name.value(); });
    return names;
}

template <typename Fn>
void for_each(const Names& names, Fn&& fn) {
    for (const std::uint64_t name : names) {
        if (name != 0) {
            fn(CounterTable::Name(name));
        }
    }
}

/// Learned nodes have at most half of all counters: the configuration's names find room in any case.
bool has_room(const NodeBoard& board, const CounterTable& table) noexcept {
    return (board.named() + 1) * Counters<NodeCount>::names <= table.groups() / 2;
}

}  // namespace

NodeBoard::Identity node_identity(const Subject& subject) noexcept {
    const std::uint64_t store = xxh64(subject.store, 0);
    const std::uint64_t shard = xxh64(subject.shard, store);
    return {store, shard, xxh64(subject.node, shard) | 1U};
}

BoardEntry::BoardEntry(Zone& zone, const Subject& subject, Kind kind, bool primary) noexcept
    : zone_(zone),
      subject_(subject),
      kind_(kind),
      identity_(node_identity(subject)),
      counted_(subject),
      counters_(zone.counters(), subject) {
    if (kind_ != Kind::unlisted) {
        enter();
        set_primary(primary);
        set_up(true);
    }
}

void BoardEntry::enter() noexcept {
    NodeBoard& board = zone_.nodes();
    tried_ = msec_now();
    NodeBoard::Noted noted;
    if (speaks()) {
        noted = board.note(identity_, subject_.node, now_millis(),
                           kind_ == Kind::learned ? NodeBoard::most_of_store : NodeBoard::most_nodes);
    } else {
        noted.place = board.find(identity_);
    }
    place_ = noted.place;
    if (kind_ == Kind::learned) {
        counted_.node = count_by_itself(noted) ? subject_.node : any_node;
        counters_ = Counters<NodeCount>(zone_.counters(), counted_);
    }
}

/// Sees to it that the node has counters of its own, if it may: the record says that it has, so that they are
/// kept when the configuration changes.
bool BoardEntry::count_by_itself(const NodeBoard::Noted& noted) noexcept {
    NodeBoard& board = zone_.nodes();
    CounterTable& table = zone_.counters();
    if (place_ == NodeBoard::none) {
        return false;
    }
    const bool named = board.has_names(place_, identity_);
    if (named && !noted.is_new && Counters<NodeCount>(table, subject_).is_whole()) {
        return true;
    }
    if (!speaks() || (!named && !has_room(board, table))) {
        return false;
    }
    CounterTable::Naming naming(table);
    for_each(noted.replaced, [&](CounterTable::Name name) { naming.drop(name); });
    const Names names = names_of(subject_);
    bool all = true;
    for_each(names, [&](CounterTable::Name name) { all = naming.add(name) && all; });
    if (!all) {
        for_each(names, [&](CounterTable::Name name) { naming.drop(name); });
    }
    board.set_names(place_, identity_, all ? names : Names{});
    return all;
}

void BoardEntry::set_primary(bool primary) noexcept {
    if (speaks()) {
        zone_.nodes().set_primary(place_, identity_, primary);
    }
}

void BoardEntry::set_up(bool up) noexcept {
    if (speaks()) {
        zone_.nodes().set_up(place_, identity_, worker_number(), up, now_millis());
    }
}

void BoardEntry::call(bool primary, bool up, std::optional<std::uint64_t> answer_time) noexcept {
    if (!speaks()) {
        return;
    }
    NodeBoard& board = zone_.nodes();
    const bool lost = (place_ != NodeBoard::none && !board.has(place_, identity_)) ||
                      (is_by_itself() && !counters_.is_whole());
    const bool lacks = place_ == NodeBoard::none || (kind_ == Kind::learned && !is_by_itself());
    if (lost || (lacks && msec_now() - tried_ >= try_interval)) {
        enter();
    }
    board.see(place_, identity_, now_millis());
    set_primary(primary);
    set_up(up);
    if (answer_time) {
        board.set_answer_time(place_, identity_, *answer_time);
    }
}

}  // namespace rate_limit
