#include <algorithm>

#include "limiter/store/store.h"
#include "limiter/wire/board_entry.h"
#include "redis/keys/routes.h"
#include "redis/topology/redirect.h"

// The shards of a cluster: one for each number of the slot map, made when it is asked for first. Charges, and
// tokens that are being fetched, stay with it. The first one has no nodes ever: it is where slots are that
// nobody serves.

namespace rate_limit {

namespace {

/// Milliseconds between looks for moves to forget.
constexpr Msec forget_interval = 1000;

/// So many shards are made in one turn for charges that wait for any of them.
constexpr std::size_t most_made = 50;

/// Milliseconds between two times that the map is taken to forget strangers.
constexpr Msec clear_interval = 100;

}  // namespace

/// Without memory nobody serves the slot, for now.
Shard& Store::make_shard(std::size_t number) noexcept {
    try {
        shards_[number] = new_shard(conf_.shards.front(), static_cast<Route>(number));
        shards_[number]->assign(slots_->group(static_cast<SlotMap::Number>(number)));
        return *shards_[number];
    } catch (...) {
        shards_[number] = nullptr;
        return *shards_.front();
    }
}

void Store::make_some() noexcept {
    std::size_t made = 0;
    for (std::size_t i = 0; i < shards_.size() && made < most_made; ++i) {
        if (shards_[i] == nullptr) {
            make_shard(i);
            ++made;
        }
    }
}

/// The cluster is as the last map says, and as its nodes have said since.
void Store::take_map() {
    slots_->take(discovery_->known(), moves_);
    assign_changed();
}

/// Gives each shard the nodes that it has now. After the map, for what comes back from nodes that go asks for
/// its slot's shard; and that may be redirected, and so bring the caller here again.
void Store::assign_changed() {
    shards_.resize(std::max(shards_.size(), slots_->size()));
    while (!slots_->changed().empty()) {
        const SlotMap::Number number = slots_->take_changed();
        Shard* const shard = shards_[number].get();
        if (shard == nullptr) {
            continue;
        }
        try {
            shard->assign(slots_->group(number));
        } catch (...) {
            slots_->put_back(number);
            throw;
        }
    }
}

/// Nodes that this worker has had nothing to ask yet. Where there is no room for one, there is none for the
/// next, and no time for all of a large cluster.
void Store::call_unused() noexcept {
    const auto call = [this](const Endpoint& endpoint, bool primary) {
        const std::string address = endpoint.text();
        return BoardEntry(*conf_.zone, {conf_.name, conf_.shards.front().name, address},
                          BoardEntry::Kind::learned, primary)
            .has_place();
    };
    try {
        for (std::size_t i = 1; i < shards_.size() && i < slots_->size(); ++i) {
            const Group& group = slots_->group(static_cast<SlotMap::Number>(i));
            if (shards_[i] != nullptr || group.primary.port == 0) {
                continue;
            }
            bool room = call(group.primary, true);
            for (const Endpoint& replica : group.replicas) {
                room = room && call(replica, false);
            }
            if (!room) {
                return;
            }
        }
    } catch (...) {
        // without memory the next call does it
    }
}

/// The map should know by now: what it says counts again.
void Store::forget_moves() noexcept {
    try {
        if (moves_.forget(static_cast<Millis>(msec_now()))) {
            take_map();
        }
    } catch (...) {
        // without memory the next map does it
    }
    if (!moves_.empty()) {
        forget_moves_.set(forget_interval);
    }
}

/// One place for all commands: a node says that another one serves the slot.
bool Store::on_redirect(Node& node, Command& command, const Reply& reply) noexcept {
    try {
        Redirect redirect;
        if (!read_redirect(reply.text_view(), node.endpoint(), redirect)) {
            const Fault fault = fault_of(reply);
            if (is_of_slot(fault) || fault == Fault::readonly) {
                on_doubt();
            }
            return false;
        }
        const bool asks = redirect.kind == Redirect::Kind::ask;
        if (!asks && node.is_primary()) {
            follow_moved({redirect.slot, redirect.to});
        }
        const SlotMap::Number number = number_for(redirect.to);
        assign_changed();
        return number != 0 && at_number(number).nodes().primary().follow(command, asks);
    } catch (...) {
        return false;  // without memory: it is an answer like any other
    }
}

/// The group that a node has named the primary of; 0: none can be asked. A replica's MOVED may be older than
/// what this worker knows, and ASK is for one command: neither makes a primary of what is a replica.
SlotMap::Number Store::number_for(const Endpoint& primary) {
    const SlotMap::Number number = slots_->find(primary);
    if (number != 0) {
        return number;
    }
    on_doubt();
    if (slots_->names(primary)) {
        return 0;
    }
    const SlotMap::Number made = slots_->make_primary(primary);
    if (made != 0 || msec_now() - cleared_ < clear_interval) {
        return made;
    }
    cleared_ = msec_now();
    take_map();  // without the nodes that it does not name
    return slots_->make_primary(primary);
}

/// A MOVED need not be news: many commands may have been on their way to the node.
void Store::follow_moved(const Move& move) {
    on_doubt();
    if (slots_->group(slots_->owner(move.slot)).primary == move.to) {
        return;
    }
    moves_.add(move, static_cast<Millis>(msec_now()));
    if (!forget_moves_.armed()) {
        forget_moves_.set(forget_interval);
    }
    slots_->move(move);
}

}  // namespace rate_limit
