#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "ngx/conf/redis_conf.h"
#include "ngx/store/deadlines.h"
#include "ngx/store/shard.h"
#include "ngx/topology/discovery.h"

namespace rate_limit {

struct MainConf;

/// One rate_limit_redis block as one worker runs it. Nodes connect with the first command.
class Store final : private Deadlines::Owner, private Shard::Owner, private Discovery::Owner {
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

    /// Where a window is; see Routes::choose().
    Route route_of(std::string_view key, std::string_view window_key) noexcept {
        follow();
        return conf_.routes.choose(key, window_key);
    }

    /// Who serves it now.
    Shard& at(Route route) const noexcept { return *by_route_[route]; }

    const StoreConf& conf() const noexcept { return conf_; }
    const std::vector<std::unique_ptr<Shard>>& shards() const noexcept { return shards_; }

    /// Closes all connections and says which charges are lost: the process, or the configuration, is at its
    /// end.
    void shut_down() noexcept;

private:
    void read_now() noexcept override;
    void on_doubt() noexcept override;
    bool on_redirect(Node& node, Command& command, const Reply& reply) noexcept override;
    bool is_at(const Shard& shard, Route route) const noexcept override { return by_route_[route] == &shard; }
    void on_topology(const Topology& topology) noexcept override;

    Shard& add_shard(const ShardConf& conf);
    void regroup(const Topology& topology);
    std::size_t free_group();
    Shard& shard_with(const Endpoint& primary);

    const StoreConf& conf_;
    Deadlines deadlines_;
    std::vector<std::unique_ptr<Shard>> shards_;
    std::vector<Group> groups_;  // of a cluster: what each of the shards is; same indexes
    std::vector<Shard*> by_route_;
    std::unique_ptr<Discovery> discovery_;  // null: all nodes are in the configuration
    bool ended_ = false;
};

Store* make_live_store(const StoreConf& conf) noexcept;

/// This worker's Store of the block, made at the first call. It ends with the configuration. Null without
/// memory.
inline Store* live_store(const StoreConf& conf) noexcept {
    return conf.live != nullptr ? conf.live : make_live_store(conf);
}

/// Makes the Stores that have to find out which servers they have, before the first request asks them.
void start_discovery(const MainConf& main) noexcept;

/// Closes every connection of this worker.
void shut_down_stores(const MainConf& main) noexcept;

}  // namespace rate_limit
