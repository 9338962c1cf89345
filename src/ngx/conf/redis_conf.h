#pragma once

#include <string>
#include <vector>

#include "ngx/base/ngx.h"
#include "ngx/conf/tls_conf.h"
#include "redis/keys/digest.h"
#include "redis/keys/routes.h"

namespace rate_limit {

class SharedState;
class SharedTopology;
class Store;
class Zone;

/// One socket address of a node; the sockaddr lives in the configuration's pool or in a node's own memory.
struct Address {
    sockaddr_storage sockaddr;
    socklen_t length;
};

/// One Redis server as configured.
struct NodeConf {
    std::string text;  ///< as written: how logs name it
    std::string host;  ///< a name that a resolver may be asked for again; empty for literal addresses and
                       ///< unix sockets
    std::string peer;  ///< what its certificate is for: the host or the IP address as written, without the
                       ///< port; empty for a unix socket, which has no TLS
    in_port_t port = 0;
    std::vector<Address> addresses;  ///< none: the host has to be resolved first
    bool learned = false;            ///< from another server, not from the configuration
};

struct ShardConf {
    std::string name;
    std::uint32_t weight = 1;
    std::string master;  ///< what the sentinels call it; empty: the nodes are these:
    NodeConf primary{};
    std::vector<NodeConf> replicas;

    bool in_cluster = false;  ///< it stands for all groups of nodes that a cluster has

    bool discovered() const noexcept { return in_cluster || !master.empty(); }

    /// In memory shared by all workers: the primary has been warned about. Owned by the configuration's pool.
    ngx_atomic_t* eviction_warned = nullptr;
    ngx_atomic_t* time_warned = nullptr;
    ngx_atomic_t* bitfield_warned = nullptr;
    ngx_atomic_t* replicas_warned = nullptr;
};

/// The user and password by which a worker logs in.
struct Login {
    std::string username;  ///< empty: a password alone
    std::string password;  ///< empty: none is needed
};

/// One rate_limit_redis block. Built when the configuration is read, destroyed with its pool.
struct StoreConf {
    std::string name;
    ngx_str_t file;  // where the block stands
    ngx_uint_t line;

    std::vector<NodeConf> sentinels;
    std::vector<NodeConf> seeds;  // of a cluster, which has one ShardConf for all; if this and `sentinels`
                                  // are empty, all shards have their nodes in the configuration
    std::vector<ShardConf> shards;
    Routes routes;  // of shards the same indexes as `shards`, whose names it refers to

    unsigned written = 0;  // which directives the block has: bits, in the order of their table
    ngx_msec_t check_timeout = 100;
    ngx_msec_t charge_timeout = 5000;
    ngx_msec_t connect_timeout = NGX_CONF_UNSET_MSEC;  // set when the block is read; covers the handshake
    ngx_msec_t fresh = NGX_CONF_UNSET_MSEC;            // unset: default_freshness(); 0: off
    std::string prefix = "rl:";
    KeyDigest digest;
    Login login;
    Login sentinel_login;
    ngx_int_t database = 0;
    TlsConf tls;

    ngx_resolver_t* resolver = nullptr;  // of http; null: names are not resolved again
    ngx_msec_t resolver_timeout = 0;

    bool used = false;  // some limit names it

    bool shares_overrides = false;            // with other machines
    SharedState* shared_overrides = nullptr;  // null: it does not
    mutable bool asks_overrides = false;      // this worker is asking for them

    SharedTopology* topology = nullptr;  // what discovery has found; null: nothing is discovered

    Zone* zone = nullptr;  // the configuration's; not null where a limit can name the store

    ngx_pool_t* pool = nullptr;     // the configuration's
    mutable Store* live = nullptr;  // what this worker makes of the block: see live_store()

    StoreConf() = default;
    StoreConf(const StoreConf&) = delete;
    StoreConf& operator=(const StoreConf&) = delete;
};

/// The name of a store; null: `local`.
inline std::string_view name_of(const StoreConf* store) noexcept {
    return store != nullptr ? std::string_view(store->name) : "local";
}

}  // namespace rate_limit
