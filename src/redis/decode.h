#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/limit/window.h"
#include "redis/reply.h"

namespace rate_limit {

enum class Fault : std::uint8_t {
    none,
    malformed,  ///< the reply has not the shape or the numbers that the command promises
    notime,    ///< NOTIME, of scripts of this module: the server does not tell them the time: the caller must
    noscript,  ///< the server does not know the script: its text must be sent once
    readonly,  ///< a replica was asked to write
    loading,   ///< the node is reading its data
    masterdown,   ///< a replica without its primary that may not serve stale data
    moved,        ///< MOVED: another node of the cluster has the slot. CROSSSLOT
    ask,          ///< ASK: another node of the cluster has the key, this time
    clusterdown,  ///< CLUSTERDOWN: nobody in the cluster serves the slot
    tryagain,     ///< TRYAGAIN: the slot is on its way to another node of the cluster
    auth,         ///< NOAUTH, WRONGPASS
    denied,       ///< said before it closes a new connection: no more clients, or none from this address
    noperm,       ///< NOPERM: the user may not run this command, in a script or outside
    busy,         ///< BUSY: a script runs for too long
    oom,          ///< OOM: maxmemory is reached
    unwilling,    ///< MISCONF, NOREPLICAS: writes are stopped
    nolua,        ///< the server does not know EVAL and EVALSHA, or has no Lua to run them
    wrongtype,    ///< the key holds another type than the limit's
    other,        ///< any other error
};
constexpr std::size_t fault_count = static_cast<std::size_t>(Fault::other) + 1;

/// A short name for logs and counters: "noscript", "readonly", …
std::string_view to_string(Fault fault) noexcept;

/// Text for a log line, for an operator.
const char* explain(Fault fault) noexcept;

/// Text of the error of a user that may not access a key, for which Fault has no word of its own; else that
/// of the fault.
const char* explain(Fault fault, const Reply& reply) noexcept;

/// The fault that an error reply reports; Fault::none for a reply that is no error.
Fault fault_of(const Reply& reply) noexcept;

/// The fault of a reply that is to be an array of so many elements. None says nothing of what the elements
/// are.
Fault fault_of_array(const Reply& reply, std::size_t count) noexcept;

/// True for faults of the node, not of the key: the caller should ask another node.
bool is_node_fault(Fault fault) noexcept;

/// True for those node faults that a node reports for writes only, or perhaps for some commands only. If the
/// command was a write, the node may still serve reads, and the caller goes on sending it checks.
bool refuses_writes(Fault fault) noexcept;

/// True for what a cluster's node says of the slot, not of itself: MOVED, ASK, CLUSTERDOWN, TRYAGAIN.
bool is_of_slot(Fault fault) noexcept;

/// True if the node has certainly not executed the command that it answers so: the caller may send it to
/// another node, or again, also if it is a charge.
bool is_refusal(Fault fault) noexcept;

/// True for the error of a script that has begun, and may not go on for want of a right: others may be there
/// to run it, unlike one that was refused as a whole, perhaps while rights are changed.
bool lacks_right_within(const Reply& reply) noexcept;

/// True for the error of a user that may not access this key: Fault::other, for of other keys it says
/// nothing. The users of other nodes may have that right.
bool lacks_key_right(const Reply& reply) noexcept;

/// True if this reply to a PING shows that the node serves at least reads. While its snapshots fail, Redis
/// refuses PING with MISCONF, as it refuses writes.
bool answers_ping(const Reply& reply) noexcept;

/// Decodes the reply to a check (HMGET used reset). `window` is {0, 0} if the key or its reset is missing, or
/// the key holds another type; a reset without `used` counts as used 0. Values that are not integers, or
/// negative, are no window either: the next charge opens a new one, so they cannot block a client. This
/// function does not judge whether the window is open.
Fault read_check(const Reply& reply, Window& window) noexcept;

/// Decodes the reply to a plain HINCRBY: `used` after the increment.
Fault read_increment(const Reply& reply, std::int64_t& used) noexcept;

/// True for the error of an HINCRBY that cannot increment the field: it is no integer, or too large, or the
/// key holds another type.
bool is_broken_count(const Reply& reply) noexcept;

/// Whether the server may evict keys: the text of INFO memory shows a `maxmemory` above 0 and a
/// `maxmemory_policy` other than noeviction.
bool evicts(std::string_view info) noexcept;

}  // namespace rate_limit
