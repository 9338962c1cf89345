#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/table/owned_lock.h"
#include "core/topology/topology.h"

namespace rate_limit {

/// The last moves that the processes of a machine were told by nodes of a cluster, in memory that they share,
/// so that one process's MOVED changes the slot for all of them. All zero bytes are no moves. There is room
/// for few: where slots move by hundreds, a process that misses some gets MOVED itself, and the next map
/// tells it the rest.
class SharedMoves {
public:
    static constexpr std::size_t room = 64;

    /// Milliseconds in which no more than `room` moves are taken: nodes that send commands in circles do not
    /// keep all processes busy.
    static constexpr std::int32_t pace = 100;

    /// Changes with each move.
    std::uint64_t count() const noexcept { return count_.load(std::memory_order_acquire); }

    /// Adds a move for the processes of this configuration. `now` in milliseconds of a clock that all
    /// processes share, modulo 2^32. False: there are too many, or the host has more than max_host bytes, or
    /// another process was told the same just before.
    bool add(const Move& move, std::uint32_t configuration, std::uint32_t now, const LockUser& user) noexcept;

    /// Takes the next move of this configuration after `seen`, a count, which is advanced. False: there is
    /// none. Throws std::bad_alloc.
    bool next(std::uint64_t& seen, std::uint32_t configuration, Move& move, const LockUser& user);

private:
    struct Entry {
        std::uint32_t at;
        std::uint32_t configuration;
        std::uint16_t slot;
        std::uint16_t port;
        unsigned char size;
        char host[max_host];

        std::string_view host_text() const noexcept { return {host, size}; }
    };

    OwnedLock lock_;
    std::atomic<std::uint64_t> count_;
    Entry entries_[room];  // move n is at n % room; the one that is being written is not counted yet
};

}  // namespace rate_limit
