#include <algorithm>

#include "ngx/store/store.h"
#include "redis/keys/slot.h"
#include "redis/topology/redirect.h"

// The shards of a cluster: one for each number of the slot map, made when it is asked for first. Charges, and
// tokens that are being fetched, stay with it. The first one has no nodes ever: it is where slots are that
// nobody serves.

namespace rate_limit {

namespace {

/// Milliseconds between looks for moves to forget.
constexpr ngx_msec_t forget_interval = 1000;

/// So many shards are made in one turn for charges that wait for any of them.
constexpr std::size_t most_made = 50;

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

void Store::hand_over() noexcept {
    for (std::size_t i = 0; i < shards_.size(); ++i) {
        if (shards_[i] == nullptr || shards_[i]->charges().here() == 0 ||
            slots_->group(static_cast<SlotMap::Number>(i)).primary.port != 0) {
            continue;
        }
        shards_[i]->charges().hand_over(
            [this](const std::string& key) -> Charges& { return at(key_slot(key)).charges(); });
    }
}

/// The cluster is as the last map says, and as its nodes have said since.
void Store::take_map() {
    slots_->take(discovery_->known(), moves_);
    settle();
}

void Store::take_move(const Move& move) {
    moves_.add(move, static_cast<Millis>(ngx_current_msec));
    if (!forget_moves_.armed()) {
        forget_moves_.set(forget_interval);
    }
    slots_->move(move);
    settle();
}

/// Gives each shard the nodes that it has now. After the map, for what comes back from nodes that go asks for
/// its slot's shard; and that may be redirected, and so bring the caller here again.
void Store::settle() {
    shards_.resize(std::max(shards_.size(), slots_->size()));
    while (!slots_->unsettled().empty()) {
        const SlotMap::Number number = slots_->take_unsettled();
        Shard* const shard = shards_[number].get();
        if (shard == nullptr) {
            continue;
        }
        try {
            shard->assign(slots_->group(number));
        } catch (...) {
            slots_->unsettle(number);
            throw;
        }
    }
}

/// Another worker of this machine was told by a node.
void Store::on_move(const Move& move) noexcept {
    try {
        take_move(move);
    } catch (...) {
        // without memory this worker will be told by the node, too
    }
}

/// The map should know by now: what it says counts again.
void Store::forget_moves() noexcept {
    try {
        if (moves_.forget(static_cast<Millis>(ngx_current_msec))) {
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
        if (!asks) {
            follow_moved({redirect.slot, redirect.to});
        }
        SlotMap::Number number = slots_->group_of(redirect.to);
        if (number == 0) {
            take_map();  // without the nodes that it does not name
            number = slots_->group_of(redirect.to);
        }
        settle();
        return number != 0 && at_number(number).nodes().primary().follow(command, asks);
    } catch (...) {
        return false;  // without memory: it is an answer like any other
    }
}

/// Not each MOVED is news: many commands may have been on their way to the node.
void Store::follow_moved(const Move& move) {
    if (slots_->group(slots_->owner(move.slot)).primary != move.to) {
        take_move(move);
        discovery_->tell(move);
    }
    on_doubt();
}

}  // namespace rate_limit
