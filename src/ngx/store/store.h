#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "ngx/conf/redis_conf.h"
#include "ngx/store/charges.h"
#include "ngx/store/check.h"
#include "ngx/store/fetches.h"
#include "ngx/store/report.h"
#include "ngx/wire/node.h"

namespace rate_limit {

class Store;

/// One shard as one worker sees it: a primary, its replicas, the charges and the tokens on their way.
class Shard final : private Node::Listener {
public:
    Shard(Store& store, const StoreConf& conf, const ShardConf& shard);
    ~Shard();

    Store& store() const noexcept { return store_; }
    std::string_view name() const noexcept { return name_; }
    std::uint64_t digest() const noexcept { return digest_; }  ///< as shard_digest() says
    Charges& charges() noexcept { return charges_; }
    const Charges& charges() const noexcept { return charges_; }
    Fetches& fetches() noexcept { return fetches_; }
    const Node& primary() const noexcept { return primary_; }
    const std::vector<std::unique_ptr<Node>>& replicas() const noexcept { return replicas_; }

    /// Who is asked next for a check: of the usable replicas not yet `asked` the one with the least load, in
    /// turn among equals; if there is none, the primary; else null. `of_primary`: only the primary will do,
    /// and only while it is one, as far as is known.
    Node* choose(const Node* const* asked, std::size_t count, bool of_primary) noexcept;

    void read_now() noexcept;
    void shut_down() noexcept;
    void set_eviction_flag(ngx_atomic_t* flag) noexcept { primary_.set_eviction_flag(flag); }

private:
    void on_usable(Node& node) noexcept override;
    void on_unusable(Node& node) noexcept override;
    void on_error(Node& node) noexcept override;

    Store& store_;
    std::string_view name_;
    const std::uint64_t digest_;
    Node primary_;
    std::vector<std::unique_ptr<Node>> replicas_;
    std::size_t turn_;
    Charges charges_;
    Fetches fetches_;
};

/// One rate_limit_redis block as one worker runs it. Nodes connect with the first command.
class Store {
public:
    explicit Store(const StoreConf& conf);
    ~Store();
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;

    /// The shard that owns the key: the client's key as it reaches Redis, without prefix and limit name.
    Shard& shard_of(std::string_view key) noexcept { return *shards_[conf_.choice.choose(key)]; }

    /// Reads the answers that lie in the sockets of all nodes.
    void read_now() noexcept;

    Deadlines& deadlines() noexcept { return deadlines_; }
    Report& report() noexcept { return report_; }
    const StoreConf& conf() const noexcept { return conf_; }
    const std::vector<std::unique_ptr<Shard>>& shards() const noexcept { return shards_; }

    /// Closes all connections and says which charges are lost: the process, or the configuration, is at its
    /// end.
    void shut_down() noexcept;

private:
    const StoreConf& conf_;
    Deadlines deadlines_;
    Report report_;
    std::vector<std::unique_ptr<Shard>> shards_;
    bool ended_ = false;
};

}  // namespace rate_limit
