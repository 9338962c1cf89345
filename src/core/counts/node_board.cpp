#include "core/counts/node_board.h"

#include <algorithm>
#include <utility>

#include "core/limit/clocks.h"

namespace rate_limit {

std::size_t NodeBoard::find(const Identity& node) const noexcept {
    return board_.find<Identity>([&](const Identity& there) { return there.node == node.node; });
}

NodeBoard::Noted NodeBoard::note(const Identity& node, std::string_view address, Millis now,
                                 std::size_t most) noexcept {
    if (address.size() > most_address) {
        return {};
    }
    Nodes::Writing writing(board_);
    if (const std::size_t place = find(node); place != none) {
        Record record = board_.read(place);
        const bool is_new = record.seen.is_gone(now);
        if (is_new && told_of(node.store, now) >= most) {
            return {};  // it comes back to a store that has as many by now
        }
        record.seen.at = now;
        writing.write(place, record);
        return {place, is_new, {}};
    }
    const std::size_t place = place_for(node.store, now, most);
    if (place == none) {
        return {};
    }
    const Names replaced = board_.read(place).names;
    Record record{};
    record.seen = {node, now};
    record.since = now;
    record.address = address;
    writing.write(place, record);
    return {place, true, replaced};
}

/// Nodes of the store that are told.
std::size_t NodeBoard::told_of(std::uint64_t store, Millis now) const noexcept {
    std::size_t count = 0;
    board_.for_each<Seen>([&](std::size_t /*place*/, const Seen& seen) {
        count += seen.node.store == store && !seen.is_gone(now) ? 1 : 0;
    });
    return count;
}

/// The place for a node of this store, in this order: one whose node has been gone for so long that it is not
/// told any more, a free one, and that of the node that has been gone for longest. The caller has the lock.
std::size_t NodeBoard::place_for(std::uint64_t store, Millis now, std::size_t most) const noexcept {
    struct Oldest {
        std::size_t place = none;
        Millis gone = kept_for - 1;

        void look(std::size_t at, Millis for_so_long) noexcept {
            if (for_so_long > gone) {
                place = at;
                gone = for_so_long;
            }
        }
    };
    Oldest of_all;
    Oldest of_store;
    board_.for_each<Seen>([&](std::size_t place, const Seen& seen) {
        of_all.look(place, now - seen.at);
        if (seen.node.store == store && !seen.is_gone(now)) {
            of_store.look(place, now - seen.at);
        }
    });
    if (told_of(store, now) >= most) {
        return of_store.place;
    }
    const std::size_t unused = find({});
    return unused == none || of_all.gone >= told_for ? of_all.place : unused;
}

/// Changes the record of the node, unless fn(Record&) says that it is as it should be, as mostly.
template <typename Fn>
void NodeBoard::change(std::size_t place, const Identity& node, Fn&& fn) noexcept {
    if (has(place, node)) {
        board_.change(place,
                      [&](Record& record) { return record.seen.node.node == node.node && fn(record); });
    }
}

/// Written once in a while: the cache line stays with all workers that read it.
void NodeBoard::see(std::size_t place, const Identity& node, Millis now) noexcept {
    constexpr Millis often_enough = 500;
    change(place, node, [now](Record& record) {
        const Millis seen = std::exchange(record.seen.at, now);
        return now - seen >= often_enough || is_set_back(seen, now);
    });
}

void NodeBoard::set_primary(std::size_t place, const Identity& node, bool primary) noexcept {
    change(place, node,
           [primary](Record& record) { return std::exchange(record.primary, primary) != primary; });
}

void NodeBoard::set_up(std::size_t place, const Identity& node, std::size_t worker, bool up,
                       Millis now) noexcept {
    change(place, node, [&](Record& record) {
        Workers& down = record.down[generation_ % 2];
        if (down[worker % most_workers] != up) {
            return false;
        }
        const bool was_up = down.none();
        down.flip(worker % most_workers);
        record.since = down.none() != was_up ? now : record.since;
        return true;
    });
}

void NodeBoard::set_answer_time(std::size_t place, const Identity& node, std::uint64_t micros) noexcept {
    change(place, node,
           [micros](Record& record) { return std::exchange(record.answer_time, micros) != micros; });
}

void NodeBoard::set_names(std::size_t place, const Identity& node, const Names& names) noexcept {
    change(place, node, [&](Record& record) { return std::exchange(record.names, names) != names; });
}

/// Those that may still write there have been leaving since the configuration before this one began.
void NodeBoard::begin_configuration(Millis now) noexcept {
    generation_ = board_.head().fetch_add(1, std::memory_order_relaxed) + 1;
    Nodes::Writing writing(board_);
    board_.for_each([&](std::size_t place, Record record) {
        record.down[generation_ % 2].reset();
        record.since = record.down[(generation_ + 1) % 2].any() ? now : record.since;
        writing.write(place, record);
    });
}

void NodeBoard::begin_worker(std::size_t worker, Millis now) noexcept {
    board_.for_each<Identity>(
        [&](std::size_t place, const Identity& node) { set_up(place, node, worker, true, now); });
}

bool NodeBoard::read(std::size_t place, const Identity& node, std::size_t workers, Millis now,
                     Told& told) const {
    const Record record = place < places() ? board_.read(place) : Record{};
    if (record.seen.node.node != node.node) {
        return false;
    }
    const std::size_t others = most_workers - std::min(workers, most_workers);
    told.address = record.address;
    told.primary = record.primary;
    told.up = (record.down[generation_ % 2] << others).none();
    told.since = record.since;
    told.gone = record.seen.is_gone(now);
    told.answer_time = told.up ? record.answer_time : std::nullopt;
    return true;
}

std::size_t NodeBoard::named() const noexcept {
    std::size_t named = 0;
    board_.for_each(
        [&](std::size_t /*place*/, const Record& record) { named += record.names[0] != 0 ? 1 : 0; });
    return named;
}

}  // namespace rate_limit
