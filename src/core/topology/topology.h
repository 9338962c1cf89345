#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/limit/window.h"

namespace rate_limit {

/// The longest host that is taken from a server, in bytes.
constexpr std::size_t max_host = 255;

/// How many hash slots a cluster has.
constexpr std::uint16_t slot_count = 16384;

struct Endpoint {
    std::string host;        ///< a name, an IPv4 address, or an IPv6 address without brackets
    std::uint16_t port = 0;  ///< 0: none is known

    /// The text that logs show: `redis.test:6379`, `[::1]:6379`.
    std::string text() const;
};

inline bool operator==(const Endpoint& one, const Endpoint& other) noexcept {
    return one.port == other.port && one.host == other.host;
}
inline bool operator!=(const Endpoint& one, const Endpoint& other) noexcept {
    return !(one == other);
}
inline bool operator<(const Endpoint& one, const Endpoint& other) noexcept {
    return std::tie(one.host, one.port) < std::tie(other.host, other.port);
}

struct EndpointHash {
    std::size_t operator()(const Endpoint& endpoint) const noexcept {
        return std::hash<std::string>()(endpoint.host) * 31 + endpoint.port;
    }
};

/// Successive hash slots of a cluster.
struct SlotRange {
    std::uint16_t first = 0;
    std::uint16_t last = 0;  ///< is in the range, too
};

/// Adds a slot that is higher than all in `ranges`, which are ascending.
void append(std::vector<SlotRange>& ranges, std::uint16_t slot);

/// A primary and the replicas that follow it.
struct Group {
    std::string name;         ///< Sentinel's name of the primary; empty in a cluster
    std::uint64_t epoch = 0;  ///< Sentinel's config-epoch: of two answers the one with the higher is newer
    Endpoint primary;         ///< port 0: none is known
    std::vector<Endpoint> replicas;  ///< those that may be read from
    std::vector<SlotRange> slots;    ///< those that a cluster lets it serve; empty for Sentinel
    /// Since when nobody claims the slots, in milliseconds of the machine's steady clock: see
    /// keep_unclaimed(); 0: they are its own.
    Millis unclaimed_since = 0;
    /// Replicas, too, that sentinels think unfit: to be read from only where no other server answers.
    std::vector<Endpoint> unfit{};
};

/// A node's word, in a cluster: from now on, another one serves the slot.
struct Move {
    std::uint16_t slot = 0;  ///< below slot_count
    Endpoint to;             ///< a primary; port above 0
};

/// All servers of one store, as its sentinels or its cluster name them.
struct Topology {
    std::vector<Group> groups;

    /// Whether the node is a primary or a replica in it.
    bool names(const Endpoint& node) const noexcept;
};

/// The group of that name, or null. `likely`: the index where it is looked for first.
const Group* find_group(const Topology& topology, std::string_view name, std::size_t likely) noexcept;

/// Two topologies are equal if they say the same in the same order.
bool operator==(const Topology& one, const Topology& other) noexcept;
bool operator!=(const Topology& one, const Topology& other) noexcept;

/// The bytes of a topology for shared memory. Texts are not cut. A slot range takes 4 bytes, a server its
/// host and 3 or more: 16384 ranges and 1000 servers, whose hosts have max_host bytes, fit into 512 KB.
std::string encode(const Topology& topology);

/// Reads what encode() has written. False for any other bytes: the topology is empty then. Not more memory is
/// taken than the bytes account for, whatever lengths they claim.
bool decode(std::string_view bytes, Topology& topology);

}  // namespace rate_limit
