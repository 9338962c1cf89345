#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace rate_limit::world {

/// A node, as a cluster's other nodes announce it.
struct ClusterNode {
    std::string id;
    std::string host;
    std::uint16_t port = 0;
};

/// A primary, its hash slots (first and last of each range, in ascending order), and its replicas.
struct ClusterGroup {
    std::vector<std::pair<std::uint16_t, std::uint16_t>> slots;
    ClusterNode primary;
    std::vector<ClusterNode> replicas;
};

/// The groups that serve a cluster, as one or more nodes believe.
using ClusterMap = std::vector<ClusterGroup>;

/// A node's view of its Redis Cluster.
struct ClusterView {
    std::string me;  ///< its own id
    std::shared_ptr<const ClusterMap> map;
    bool down = false;                                 ///< CLUSTERDOWN
    bool reads_when_down = false;                      ///< cluster-allow-reads-when-down
    std::map<std::uint16_t, ClusterNode> migrating{};  ///< hash slots on their way to another node
    std::map<std::uint16_t, ClusterNode> importing{};  ///< and from one
    std::set<std::uint16_t> unstable{};                ///< TRYAGAIN for all commands, as Redis 8.4 may say
};

enum class ServerRole : unsigned char { primary, replica };

/// Whose words for errors a server has: those of 6.2, 7.0, and 8.0, which 7.2 and Valkey 8 share.
enum class ServerVersion : unsigned char { redis_6, redis_7, redis_8 };

/// The state of a server: what befalls it, and how it is configured. Names of commands are those of Redis in
/// lower case, a subcommand's as `script|load`.
struct ServerState {
    using Names = std::set<std::string, std::less<>>;

    ServerVersion version = ServerVersion::redis_7;
    ServerRole role = ServerRole::primary;
    std::string replication_id{};  ///< for INFO alone; empty: it says none

    bool loading = false;         ///< LOADING
    bool busy = false;            ///< BUSY: a script runs for too long
    bool cannot_save = false;     ///< MISCONF: a primary cannot write its snapshot
    bool out_of_memory = false;   ///< OOM
    bool lacks_replicas = false;  ///< NOREPLICAS: a primary has fewer than min-replicas-to-write
    bool link_up = true;          ///< a replica's to its primary
    bool synced = true;           ///< it has had data of a primary since its start
    bool serves_stale = true;     ///< else MASTERDOWN without a link

    Names forbidden;       ///< NOPERM, also in scripts
    Names not_in_scripts;  ///< refused in scripts alone, as `time` by some servers
    Names unknown;         ///< renamed away, as `eval` and `evalsha` where there is no Lua

    /// By user. With one for `default`, clients say AUTH first.
    std::map<std::string, std::string, std::less<>> passwords;

    std::uint64_t maxmemory = 0;  ///< bytes; for INFO alone
    std::string maxmemory_policy = "noeviction";
    std::size_t replicas = 0;               ///< that are connected; for INFO alone
    std::size_t min_replicas_to_write = 0;  ///< for INFO alone

    std::optional<ClusterView> cluster;
};

}  // namespace rate_limit::world
