#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "core/topology/slot_map.h"
#include "limiter/loop.h"
#include "limiter/store/region_watch.h"
#include "limiter/store/shard.h"
#include "limiter/store/shared_reads.h"
#include "limiter/store_conf.h"
#include "limiter/topology/discovery.h"
#include "limiter/waits/deadlines.h"

namespace rate_limit {

struct Configuration;

/// One rate_limit_redis block as one worker runs it.
class Store final : private Deadlines::Owner, private Guide, private Discovery::Owner {
public:
    explicit Store(const StoreConf& conf);
    ~Store() { shut_down(); }
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;

    /// Takes up what other workers have found out about its servers.
    void follow() noexcept override {
        if (discovery_ != nullptr) {
            discovery_->follow();
        }
    }

    /// The route of a window; see Routes::choose().
    Route route_of(std::string_view key, std::string_view window_key) noexcept {
        follow();
        return conf_.routes.choose(key, window_key);
    }

    /// The shard that serves it now.
    Shard& at(Route route) noexcept { return at_number(number_of(route)); }

    /// Reads of its windows for reports.
    SharedReads& shared_reads() noexcept { return shared_reads_; }

    const StoreConf& conf() const noexcept { return conf_; }

    /// How a shard of another region answers.
    RegionWatch& watch(Route route) noexcept { return *watches_[route]; }

    /// Reads the answers that lie in the sockets of all nodes: they are in time. One that redirects may add a
    /// shard.
    void read_answers() noexcept {
        for_each_shard([](Shard& shard) { shard.nodes().read_now(); });
    }

    /// Tells all workers which nodes are in use, and how they are; of a cluster all that its map names. To be
    /// called about once a second.
    void call_roll() noexcept;

    /// See Shard::tell_hot_keys().
    void tell_hot_keys(Millis now) noexcept {
        for_each_shard([now](Shard& shard) { shard.tell_hot_keys(now); });
    }

    /// Those that were asked for: of a cluster some may be null, and make_some() makes a few of these.
    const std::vector<std::unique_ptr<Shard>>& shards() const noexcept { return shards_; }
    void make_some() noexcept;

    /// Calls fn(Shard&) for each that there is; it may bring the store another one.
    template <typename Fn>
    void for_each_shard(Fn&& fn) {
        std::size_t next = 0;
        while (next < shards_.size()) {
            Shard* const shard = shards_[next++].get();
            if (shard != nullptr) {
                fn(*shard);
            }
        }
    }

    /// Asks again for some of the batches that were not answered. To be called now and then. Returns how many
    /// there are.
    std::size_t ask_again() noexcept;

    /// Closes all connections and says which charges are lost: the process, or the configuration, is at its
    /// end.
    void shut_down() noexcept;

private:
    void read_now() noexcept override { read_answers(); }
    void doubt() noexcept override;
    bool redirect(Node& node, Command& command, const Reply& reply) noexcept override;
    void on_topology(const Topology& topology) noexcept override;

    Routes::Parts parts_of(std::size_t number) const noexcept override {
        return slots_ == nullptr ? Routes::all_parts : slots_->parts(static_cast<SlotMap::Number>(number));
    }

    /// The index of the route's shard. A number for which there was no memory is nobody's.
    std::size_t number_of(Route route) const noexcept override {
        if (slots_ == nullptr) {
            return route;
        }
        const std::size_t number = slots_->owner(static_cast<std::uint16_t>(route));
        return number < shards_.size() ? number : 0;
    }
    Shard& at_number(std::size_t number) noexcept {
        return shards_[number] != nullptr ? *shards_[number] : make_shard(number);
    }
    std::unique_ptr<Shard> new_shard(const ShardConf& conf, Route route);
    Shard& make_shard(std::size_t number) noexcept;
    void take_map();
    void follow_moved(const Move& move);
    void assign_changed();
    SlotMap::Number number_for(const Endpoint& primary);
    void forget_moves() noexcept;
    void call_unused() noexcept;
    void connect_ahead() noexcept;
    void place_waiting() noexcept;
    void wait_no_longer() noexcept;
    bool keep_connections(Role role) noexcept;

    const StoreConf& conf_;
    Deadlines deadlines_;
    UnansweredBatches unanswered_;
    NumberedWindows numbered_refunds_;
    std::vector<std::unique_ptr<Shard>> shards_;  // indexed as the configuration, or by numbers in slots_
    std::unique_ptr<SlotMap> slots_;              // null: no cluster
    RecentMoves moves_;
    Msec cleared_ = 0;  // when the map was last taken without its strangers
    Timer forget_moves_{this, [](void* self) noexcept { static_cast<Store*>(self)->forget_moves(); },
                        Timer::Worker::leaves};
    Timer ahead_{this, [](void* self) noexcept { static_cast<Store*>(self)->connect_ahead(); },
                 Timer::Worker::leaves};
    Timer first_{this, [](void* self) noexcept { static_cast<Store*>(self)->wait_no_longer(); },
                 Timer::Worker::leaves};    // until then requests may wait for the first topology
    std::unique_ptr<Discovery> discovery_;  // null: all nodes are in the configuration
    SharedReads shared_reads_;
    std::vector<std::unique_ptr<RegionWatch>> watches_;  // of another region: indexed as the configuration
    bool ended_ = false;
};

Store* make_live_store(const StoreConf& conf) noexcept;

/// This worker's Store of the block, made at the first call. It lasts until end_stores(). Null without
/// memory.
inline Store* live_store(const StoreConf& conf) noexcept {
    return conf.live != nullptr ? conf.live : make_live_store(conf);
}

/// Makes the Stores that limits may name, which connect to their servers before the first request asks them.
void start_stores(const Configuration& main) noexcept;

/// Closes every connection of this worker.
void shut_down_stores(const Configuration& main) noexcept;

/// Ends the Stores of a configuration that ends, before all that they use.
void end_stores(const Configuration& main) noexcept;

}  // namespace rate_limit
