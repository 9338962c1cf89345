#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "ngx/conf/redis_conf.h"
#include "ngx/store/deadlines.h"
#include "ngx/store/shard.h"

namespace rate_limit {

struct MainConf;

/// One rate_limit_redis block as one worker runs it. Nodes connect with the first command.
class Store final : private Deadlines::Owner {
public:
    explicit Store(const StoreConf& conf);
    ~Store() { shut_down(); }
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;

    /// The shard that owns the key: the client's key as it reaches Redis, without prefix and limit name.
    Shard& shard_of(std::string_view key) noexcept { return *shards_[conf_.choice.choose(key)]; }

    const StoreConf& conf() const noexcept { return conf_; }
    const std::vector<std::unique_ptr<Shard>>& shards() const noexcept { return shards_; }

    /// Closes all connections and says which charges are lost: the process, or the configuration, is at its
    /// end.
    void shut_down() noexcept;

private:
    void read_now() noexcept override;

    const StoreConf& conf_;
    Deadlines deadlines_;
    std::vector<std::unique_ptr<Shard>> shards_;
    bool ended_ = false;
};

Store* make_live_store(const StoreConf& conf) noexcept;

/// This worker's Store of the block, made at the first call. It ends with the configuration. Null without
/// memory.
inline Store* live_store(const StoreConf& conf) noexcept {
    return conf.live != nullptr ? conf.live : make_live_store(conf);
}

/// Closes every connection of this worker.
void shut_down_stores(const MainConf& main) noexcept;

}  // namespace rate_limit
