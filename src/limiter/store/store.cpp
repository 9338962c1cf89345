#include "limiter/store/store.h"

#include <memory>
#include <utility>

#include "limiter/configuration.h"

namespace rate_limit {

Store::Store(const StoreConf& conf)
    : conf_(conf),
      deadlines_(conf.check_timeout, *this),
      shared_reads_(*conf.zone, deadlines_, conf.check_timeout) {
    for (const ShardConf& shard : conf.shards) {
        shards_.push_back(new_shard(shard, static_cast<Route>(shards_.size())));
    }
    if (conf.routes.has_slots()) {
        slots_ = std::make_unique<SlotMap>();
    }
    if (conf.topology != nullptr) {
        discovery_ = std::make_unique<Discovery>(conf, static_cast<Discovery::Owner&>(*this));
        discovery_->follow();
    }
}

std::unique_ptr<Shard> Store::new_shard(const ShardConf& conf, Route route) {
    return std::make_unique<Shard>(conf_, conf, route, deadlines_, unanswered_, numbered_refunds_,
                                   static_cast<Shard::Owner&>(*this));
}

/// Reads the answers that lie in the sockets of all nodes. One that redirects may add a shard.
void Store::read_now() noexcept {
    for_each_shard([](Shard& shard) { shard.nodes().read_now(); });
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
            batch.until > now ? fetches.ask_again(batch) : fetches.give_up();
        });
    } catch (...) {
        return refunds + unanswered_.size();  // without memory it is tried again later
    }
}

void Store::on_doubt() noexcept {
    if (discovery_ != nullptr) {
        discovery_->hint();
    }
}

void Store::on_topology(const Topology& topology) noexcept {
    try {
        if (slots_ != nullptr) {
            take_map();
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

void Store::shut_down() noexcept {
    if (ended_) {
        return;
    }
    ended_ = true;
    if (discovery_ != nullptr) {
        discovery_->shut_down();
    }
    forget_moves_.clear();
    for_each_shard([](Shard& shard) { shard.shut_down(); });
    unanswered_.for_each([this](const UnansweredBatch& batch) { at(batch.route).fetches().give_up(); });
}

Store* make_live_store(const StoreConf& conf) noexcept {
    try {
        conf.live = new Store(conf);
        return conf.live;
    } catch (...) {
        return nullptr;
    }
}

void start_discovery(const Configuration& main) noexcept {
    for (const StoreConf* store : main.stores) {
        if (store->topology != nullptr && store->used) {
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
