#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <netinet/in.h>
#include <sys/socket.h>

#include "core/limit/window.h"
#include "limiter/login.h"
#include "limiter/loop.h"
#include "redis/keys/routes.h"
#include "redis/keys/window_key.h"

namespace rate_limit {

class HeldData;
class SharedState;
class SharedTopology;
class Store;
class Zone;

/// One socket address of a node: IPv4, IPv6 or a path.
struct Address {
    sockaddr_storage sockaddr;
    socklen_t length;
};

/// Whether both are of one family and lead to one server: host and port, or the path, are the same.
bool same_address(const Address& a, const Address& b) noexcept;

Address address_of(const sockaddr& socket, socklen_t length) noexcept;

/// Changes the port of an address that has one.
void set_port(Address& address, in_port_t port) noexcept;

/// One Redis server as configured.
struct NodeConf {
    std::string text;  ///< the configured text: how logs name it
    std::string host;  ///< a name that a resolver may be asked for again; empty for literal addresses and
                       ///< unix sockets
    std::string peer;  ///< the name that its certificate is for: the host or the IP address as written,
                       ///< without the port; empty for a unix socket, which has no TLS
    in_port_t port = 0;
    std::vector<Address> addresses;  ///< none: the host has to be resolved first
    bool learned = false;            ///< from another server, not from the configuration
};

/// Whether some address of one is some address of the other.
inline bool share_address(const NodeConf& a, const NodeConf& b) noexcept {
    return std::any_of(a.addresses.begin(), a.addresses.end(), [&b](const Address& first) {
        return std::any_of(b.addresses.begin(), b.addresses.end(),
                           [&first](const Address& second) { return same_address(first, second); });
    });
}

/// Whether `a`, whose address `in_use` is connected (null: none is), is the same server as `b`, as far as
/// names and addresses tell. While none is in use, one of several addresses says nothing.
bool is_same_server(const NodeConf& a, const Address* in_use, const NodeConf& b) noexcept;

/// Whether some node of one list has the text or an address of some node of the other.
bool share_node(const std::vector<NodeConf>& some, const std::vector<NodeConf>& others) noexcept;

/// Warnings that the log has of one primary, or of the one that a shard of another region names, each once,
/// by whichever worker finds it out first. All zero bytes: none.
struct PrimaryWarnings {
    std::atomic<bool> eviction;
    std::atomic<bool> time;
    std::atomic<bool> bitfield;
    std::atomic<bool> replicas;
    std::atomic<bool> role;
    static_assert(std::atomic<bool>::is_always_lock_free, "processes share it");
};

struct ShardConf {
    std::string name;
    std::uint32_t weight = 1;
    std::string master;  ///< its name at the sentinels; empty: the nodes are these:
    NodeConf primary{};
    std::vector<NodeConf> replicas;

    bool in_cluster = false;  ///< it stands for all groups of nodes that a cluster has

    bool discovered() const noexcept { return in_cluster || !master.empty(); }

    /// False: the servers tell it, or it stands in another region.
    bool names_primary() const noexcept { return !primary.text.empty(); }

    /// In memory that all workers share, and owned by whoever owns the configuration.
    PrimaryWarnings* warned = nullptr;
};

/// The words of a rate_limit_redis block for all its servers, in all its regions.
struct StoreTerms {
    /// Which of several replicas a read goes to.
    enum class ReadFrom : unsigned char {
        nearest,  ///< one of those that answer as quickly as any
        spread,   ///< each in turn
    };
    ReadFrom read_from = ReadFrom::nearest;

    Msec check_timeout = 100;
    Msec charge_timeout = 5000;
    Msec connect_timeout = 1000;  // covers TCP, TLS and the greeting
    std::optional<Msec> fresh;    // none: default_freshness(); 0: off
    std::string prefix = "rl:";
    KeyDigest digest;
    Login login;
    Login sentinel_login;
    std::int64_t database = 0;
    bool encrypted = false;  // its connections speak TLS
};

/// One rate_limit_redis block. Built when the configuration is read; outlives what this worker makes of it.
struct StoreConf : StoreTerms {
    std::string name;

    std::vector<NodeConf> sentinels;
    std::vector<NodeConf> seeds;  // nodes of a cluster, which has one ShardConf for all; if this and
                                  // `sentinels` are empty, all shards have their nodes in the configuration
    std::vector<ShardConf> shards;
    Routes routes;  // indexed like `shards`, whose names it refers to

    bool resolves_again = false;  // whoever runs the limiter finds out where a name leads now

    bool used = false;  // some limit names it

    // A store of several regions is the store of the region here, and has one more for each other region:
    // their shards have the same names and routes, are read, and never written.
    std::string region;                       // empty: it has none
    std::uint64_t region_digest = 0;          // of the region here; other regions have it in their names
    std::vector<const StoreConf*> elsewhere;  // its other regions, in their order
    const StoreConf* home =
        nullptr;  // not null: it is another region of that store, and limits cannot name it

    bool has_regions() const noexcept { return !elsewhere.empty(); }
    bool is_of_regions() const noexcept { return home != nullptr || has_regions(); }

    /// Which records of windows are of this route, and of this region.
    std::uint64_t window_digest(Route route) const noexcept {
        return routes.digest_of(route) ^ region_digest;
    }

    bool shares_overrides = false;            // with other machines
    SharedState* shared_overrides = nullptr;  // null: it does not
    mutable bool asks_overrides = false;      // this worker is asking for them

    SharedTopology* topology = nullptr;  // servers that discovery has found; null: nothing is discovered

    Zone* zone = nullptr;  // the configuration's; not null where a limit can name the store

    mutable HeldData* held = nullptr;  // this worker's servers of all regions, of a store that is no other's

    mutable Store* live = nullptr;  // this worker's, of the block: see live_store()

    StoreConf() = default;
    StoreConf(const StoreConf&) = delete;
    StoreConf& operator=(const StoreConf&) = delete;
};

/// The store of one more region gets from its home what a block says of all regions, its name, the order of
/// its shards and their routes. False: its shards have other names or weights than those of its home, which
/// are complete.
bool join_region(StoreConf& region, StoreConf& home);

/// Calls fn(const NodeConf&) for each server that the configuration names.
template <typename Fn>
void for_each_node(const StoreConf& store, Fn fn) {
    std::for_each(store.sentinels.begin(), store.sentinels.end(), fn);
    std::for_each(store.seeds.begin(), store.seeds.end(), fn);
    for (const ShardConf& shard : store.shards) {
        if (shard.names_primary()) {
            fn(shard.primary);
        }
        if (!shard.discovered()) {
            std::for_each(shard.replicas.begin(), shard.replicas.end(), fn);
        }
    }
}

/// Whether a shard of one has the same primary as a shard of the other, as far as the configuration can tell.
bool share_primary(const StoreConf& a, const StoreConf& b) noexcept;

/// The name of a store; null: `local`.
inline std::string_view name_of(const StoreConf* store) noexcept {
    return store != nullptr ? std::string_view(store->name) : "local";
}

/// The start of the text that identifies a window on this machine: `STORE NUL` and what write_window_head()
/// writes. `store` is null for `local`.
std::size_t head_room(const StoreConf* store, std::string_view limit) noexcept;
char* write_head(char* out, const StoreConf* store, std::string_view limit, std::int64_t period,
                 WindowKind kind) noexcept;

}  // namespace rate_limit
