#include "limiter/store/store.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "limiter/configuration.h"
#include "limiter/wire/health/board_entry.h"
#include "redis/keys/routes.h"
#include "redis/topology/redirect.h"

namespace rate_limit {

namespace {

/// Milliseconds between looks for moves to forget.
constexpr Msec forget_interval = 1000;

/// So many shards are made in one turn for charges that wait for any of them.
constexpr std::size_t most_made = 50;

/// Milliseconds between two times that the map is taken to forget strangers.
constexpr Msec clear_interval = 100;

}  // namespace

Store::Store(const StoreConf& conf)
    : conf_(conf),
      deadlines_(conf.check_timeout, *this),
      shared_reads_(*conf.zone, deadlines_, conf.check_timeout) {
    for (const ShardConf& shard : conf.shards) {
        shards_.push_back(new_shard(shard, static_cast<Route>(shards_.size())));
        if (conf.home != nullptr) {
            watches_.push_back(std::make_unique<RegionWatch>(conf, shard));
        }
    }
    if (conf.routes.has_slots()) {
        slots_ = std::make_unique<SlotMap>();
    }
    ahead_.set_to_end_of_turn();
    if (conf.topology != nullptr) {
        discovery_ = std::make_unique<Discovery>(conf, static_cast<Discovery::Owner&>(*this));
        first_.set(conf.connect_timeout);
        discovery_->follow();
    }
}

std::unique_ptr<Shard> Store::new_shard(const ShardConf& conf, Route route) {
    return std::make_unique<Shard>(conf_, conf, route, deadlines_, unanswered_, numbered_refunds_,
                                   static_cast<Guide&>(*this));
}

void Store::call_roll() noexcept {
    for_each_shard([](Shard& shard) { shard.nodes().call_roll(); });
    if (slots_ != nullptr) {
        call_unused();
    }
}

std::size_t Store::ask_again() noexcept {
    std::size_t refunds = 0;
    for_each_shard([&refunds](Shard& shard) { refunds += shard.charges().ask_again(); });
    const Millis now = now_millis();
    try {
        return refunds + unanswered_.walk(now, [&](const UnansweredBatch& batch) {
            Fetches& fetches = at(batch.route).fetches();
            batch.until > now ? fetches.ask_again(batch) : fetches.give_up(batch);
        });
    } catch (...) {
        return refunds + unanswered_.size();  // without memory it is tried again later
    }
}

void Store::doubt() noexcept {
    if (discovery_ != nullptr) {
        discovery_->hint();
    }
}

void Store::on_topology(const Topology& topology) noexcept {
    ahead_.set_to_end_of_turn();
    try {
        if (slots_ != nullptr) {
            take_map();
            place_waiting();
            return;
        }
        // By name: a worker of another configuration may have published them in another order.
        for (std::size_t i = 0; i < shards_.size(); ++i) {
            if (const Group* group = find_group(topology, conf_.shards[i].master, i)) {
                shards_[i]->assign(*group);
            }
        }
    } catch (...) {
        // without memory the shards that are left keep their nodes until the topology changes again
    }
}

/// Commands that came before the first map wait where slots are that nobody serves.
void Store::place_waiting() noexcept {
    shards_.front()->nodes().hand_over([this](const Command& waiting) -> Node& {
        const std::string_view key = waiting.window_key();
        return at(conf_.routes.choose(key, key)).nodes().primary();
    });
}

void Store::wait_no_longer() noexcept {
    for_each_shard([](Shard& shard) { shard.nodes().wait_no_longer(); });
}

void Store::shut_down() noexcept {
    if (ended_) {
        return;
    }
    ended_ = true;
    first_.clear();
    if (discovery_ != nullptr) {
        discovery_->shut_down();
    }
    forget_moves_.clear();
    ahead_.clear();
    for_each_shard([](Shard& shard) { shard.shut_down(); });
    unanswered_.for_each([this](const UnansweredBatch& batch) { at(batch.route).fetches().give_up(batch); });
}

// The shards of a cluster: one for each number of the slot map, made when it is asked for first. Charges, and
// tokens that are being fetched, stay with it. The first one has no nodes ever: it is where slots are that
// nobody serves.

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

/// Connects to the servers before they are needed: to primaries first, for without them nothing is charged. A
/// few shards of a cluster are made in a turn.
void Store::connect_ahead() noexcept {
    if (ended_ || is_leaving()) {
        return;
    }
    make_some();
    // Another region's primary is read only where no replica is.
    const bool writes = conf_.home == nullptr;
    const bool room = (!writes || keep_connections(Role::primary)) && keep_connections(Role::replica);
    if (room && std::find(shards_.begin(), shards_.end(), nullptr) != shards_.end()) {
        ahead_.set(1);
    }
}

/// False: this worker has no room for more connections.
bool Store::keep_connections(Role role) noexcept {
    bool room = true;
    for_each_shard([&](Shard& shard) { room = room && shard.nodes().keep_connections(role); });
    return room;
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
bool Store::redirect(Node& node, Command& command, const Reply& reply) noexcept {
    try {
        Redirect redirect;
        if (!read_redirect(reply.text_view(), node.endpoint(), redirect)) {
            const Fault fault = fault_of(reply);
            if (is_of_slot(fault) || fault == Fault::readonly) {
                doubt();
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
    doubt();
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
    doubt();
    if (slots_->group(slots_->owner(move.slot)).primary == move.to) {
        return;
    }
    moves_.add(move, static_cast<Millis>(msec_now()));
    if (!forget_moves_.armed()) {
        forget_moves_.set(forget_interval);
    }
    slots_->move(move);
}

Store* make_live_store(const StoreConf& conf) noexcept {
    try {
        conf.live = new Store(conf);
        return conf.live;
    } catch (...) {
        return nullptr;
    }
}

void start_stores(const Configuration& main) noexcept {
    for (const StoreConf* store : main.stores) {
        if (store->used) {
            live_store(*store);
        }
    }
}

void shut_down_stores(const Configuration& main) noexcept {
    for (const StoreConf* store : main.stores) {
        if (store->live != nullptr) {
            store->live->shut_down();
        }
    }
}

void end_stores(const Configuration& main) noexcept {
    for (const StoreConf* store : main.stores) {
        delete std::exchange(store->live, nullptr);
    }
}

}  // namespace rate_limit
