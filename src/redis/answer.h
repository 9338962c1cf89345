#pragma once

#include <cstdint>
#include <string_view>

#include "core/limit/window.h"
#include "redis/reply.h"

namespace rate_limit {

/// What is wrong with a reply.
enum class Fault : std::uint8_t {
    none,
    malformed,   ///< not the shape or the numbers that the command promises
    noscript,    ///< the script must be sent once
    readonly,    ///< a replica was asked to write
    loading,     ///< the node is reading its data
    masterdown,  ///< a replica without its primary that may not serve stale data
    moved,       ///< MOVED, ASK, CLUSTERDOWN, CROSSSLOT, TRYAGAIN: this node belongs to a Redis Cluster
    auth,        ///< NOAUTH, WRONGPASS
    noperm,      ///< NOPERM: the user may not run this command, in a script or outside
    busy,        ///< BUSY: a script runs for too long
    oom,         ///< OOM: maxmemory is reached
    unwilling,   ///< MISCONF, NOREPLICAS: writes are stopped; or the server takes no more clients
    wrongtype,   ///< the key holds something that is not a window
    other,       ///< any other error
};
constexpr std::size_t fault_count = static_cast<std::size_t>(Fault::other) + 1;

/// A short name for logs and counters: "noscript", "readonly", …
std::string_view to_string(Fault fault) noexcept;

/// What it means for an operator: text for a log line.
const char* explain(Fault fault) noexcept;

/// Fault::none for a reply that is no error.
Fault fault_of(const Reply& reply) noexcept;

/// True for faults that mean "ask another node" and speak of the node, not of the key.
bool is_node_fault(Fault fault) noexcept;

/// True for those of them that a node says to writes only, or may say to some commands only: as an answer to
/// a write they say nothing of reads, and checks go on.
bool refuses_writes(Fault fault) noexcept;

/// True where a node answers a PING by this: it serves, or would serve reads. While snapshots fail Redis
/// answers PING as it does a write, by MISCONF.
bool answers_ping(const Reply& reply) noexcept;

/// Decodes the reply to a check (HMGET used reset). `window` is {0, 0} when the key or its reset is missing;
/// a reset without used counts as used 0. Values that are no integers, or negative, are no window either: the
/// next charge opens a new one, so that they cannot block a client. Whether the window is open is not judged
/// here.
Fault read_check(const Reply& reply, Window& window) noexcept;

/// Decodes the reply to the charge, repair and refund scripts: an array of used and reset, both integers.
Fault read_charge(const Reply& reply, Window& window) noexcept;

/// What the reserve script was asked for, as it was sent.
struct Asked {
    std::int64_t limit = 0;
    std::int64_t period = 0;  ///< of the window, in seconds
    std::int64_t want = 0;
    std::int64_t least = 0;
    Millis at = 0;  ///< its `now`
};

/// Decodes the reply to the reserve script: an array of granted, used and reset, all integers, and such that
/// the script can answer so. Otherwise what is charged would come out of nowhere, or who waits would ask
/// again and again. Granted 0 on any fault.
Fault read_reserve(const Reply& reply, const Asked& asked, std::int64_t& granted, Window& window) noexcept;

/// Decodes the reply to a plain HINCRBY: used after it.
Fault read_increment(const Reply& reply, std::int64_t& used) noexcept;

/// True for the error of HINCRBY on a field that is no count to go on from: no integer, or too large.
bool is_broken_count(const Reply& reply) noexcept;

/// True when the text of INFO memory shows a `maxmemory` above 0 and a `maxmemory_policy` other than
/// noeviction.
bool evicts(std::string_view info) noexcept;

}  // namespace rate_limit
