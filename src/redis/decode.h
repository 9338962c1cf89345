#pragma once

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

/// The fault that an error reply reports; Fault::none for a reply that is no error.
Fault fault_of(const Reply& reply) noexcept;

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

/// True if this reply to a PING shows that the node serves at least reads. While its snapshots fail, Redis
/// refuses PING with MISCONF, as it refuses writes.
bool answers_ping(const Reply& reply) noexcept;

/// Decodes the reply to a check (HMGET used reset). `window` is {0, 0} if the key or its reset is missing, or
/// the key holds another type; a reset without `used` counts as used 0. Values that are not integers, or
/// negative, are no window either: the next charge opens a new one, so they cannot block a client. This
/// function does not judge whether the window is open.
Fault read_check(const Reply& reply, Window& window) noexcept;

/// How many elements the replies of these scripts have, unless they say that another type has given way:
/// replaced_another_type(). Those of repair and refund have as many as those of charge.
constexpr std::size_t words_of_charge = 2;
constexpr std::size_t words_of_reserve = 3;
constexpr std::size_t words_of_bucket = 7;
constexpr std::size_t words_of_hold = 3;
static_assert(words_of_bucket < Reply::max_elements, "with one more, a reply holds the longest of them");

/// Whether a script says that what it has stored has taken the place of another type: by one element more, 1,
/// in a reply that is sound. `words`: how many it has else.
bool replaced_another_type(const Reply& reply, std::size_t words) noexcept;

/// The fault in the reply of a script, which is an array of so many elements, or says that another type has
/// given way. None says nothing of what the elements are.
Fault fault_of_script(const Reply& reply, std::size_t words) noexcept;

/// Decodes the reply to the charge, repair and refund scripts: an array of used and reset, both integers.
Fault read_charge(const Reply& reply, Window& window) noexcept;

struct ReserveCall {
    std::int64_t limit = 0;
    std::int64_t period = 0;  ///< the window's, in seconds
    std::int64_t want = 0;
    std::int64_t least = 0;
    Millis at = 0;  ///< the `now` that was sent to it

    /// The want of an earlier call that this one repeats: it may have been granted, and others have taken
    /// something since; or refused, though there is room now.
    std::int64_t wanted_before = 0;
};

/// Decodes the reply to the reserve script: an array of granted, used and reset, all integers. It is
/// malformed unless the script can give this answer: otherwise a worker would charge tokens that no server
/// has counted, or waiting requests would ask again and again. On any fault `granted` is 0.
Fault read_reserve(const Reply& reply, const ReserveCall& call, std::int64_t& granted,
                   Window& window) noexcept;

/// Decodes the reply to a plain HINCRBY: `used` after the increment.
Fault read_increment(const Reply& reply, std::int64_t& used) noexcept;

/// True for the error of an HINCRBY that cannot increment the field: it is no integer, or too large, or the
/// key holds another type.
bool is_broken_count(const Reply& reply) noexcept;

/// Whether the server may evict keys: the text of INFO memory shows a `maxmemory` above 0 and a
/// `maxmemory_policy` other than noeviction.
bool evicts(std::string_view info) noexcept;

}  // namespace rate_limit
