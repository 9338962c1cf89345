#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace rate_limit {

/// A walk over the sets of a table, round after round, that the processes of a machine share: each takes a
/// few sets at a time, the next in order, so that in a round each set is visited once, by one of the
/// processes; it lies in memory that they share. If a process dies before it has visited the sets that it
/// took, they wait for the next round.
///
/// Times are milliseconds of a clock that all processes share, modulo 2^32.
class SharedWalk {
public:
    /// The sets from `next` up to, but not including, `end`.
    struct Slice {
        std::size_t next = 0;
        std::size_t end = 0;

        bool empty() const noexcept { return next == end; }
    };

    /// Takes the next sets, at most `most`, of a table that has `sets` of them. They belong to the current
    /// round or, once that has taken all, to a new one; a round begins at least `interval` after the one
    /// before began. Empty if it is too early for a new round.
    Slice take(std::size_t sets, std::size_t most, std::uint32_t now, std::uint32_t interval) noexcept;

    /// How long until take() returns sets again; 0: it would do so now.
    std::uint32_t pause(std::size_t sets, std::uint32_t now, std::uint32_t interval) const noexcept;

    /// Called when a process has put into the table, or found there, a record of the kind that the walk looks
    /// for.
    void note() noexcept;

    /// Whether a process called note() in this round or the one before: if not, the table has no such record.
    bool noted() const noexcept;

private:
    std::atomic<std::uint64_t> position_{0};  // when the round began (upper half), and the next set
    std::atomic<bool> found_{false};          // whether note() was called in this round
    std::atomic<bool> found_before_{false};   // whether it was called in the round before
};

}  // namespace rate_limit
