#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace rate_limit {

/// A walk over the sets of a table, round after round, that the processes of a machine make together: who
/// comes by takes the next few sets, so that each set is looked at once a round, whoever does it. What a
/// process took that has died is left to the next round.
///
/// Times are milliseconds of a clock that all processes share, modulo 2^32.
class SharedWalk {
public:
    /// Memory that is all zero is a walk that is about to begin.
    struct Memory {
        std::atomic<std::uint64_t> place;  // when the round began (upper half), and the set that comes next
        std::atomic<bool> found;           // in this round
        std::atomic<bool> found_before;    // in the round before it
    };

    /// Sets from `next` up to `end`.
    struct Slice {
        std::size_t next = 0;
        std::size_t end = 0;

        bool empty() const noexcept { return next == end; }
    };

    /// The memory outlives this.
    void take_up(Memory& memory) noexcept { memory_ = &memory; }

    /// The next slice of a table of so many sets, at most `most` of them: of the round that is under way, or
    /// of a new one, which begins `interval` after the one before it began. Empty: it is not time yet.
    Slice take(std::size_t sets, std::size_t most, std::uint32_t now, std::uint32_t interval) noexcept;

    /// How long until take() has something again; 0: it has.
    std::uint32_t pause(std::size_t sets, std::uint32_t now, std::uint32_t interval) const noexcept;

    /// What the walk is for has been put into the table, or was found there.
    void note() noexcept;

    /// Whether it was, in this round or the one before it.
    bool noted() const noexcept;

private:
    Memory* memory_ = nullptr;
};

}  // namespace rate_limit
