#pragma once

#include <cstddef>
#include <cstdint>

namespace rate_limit {

/// When commands that nobody waits for are written to a socket: together, where they are many. Writing, and
/// waking who reads, costs both sides more than a command does.
///
/// A write that would carry the first of them waits for others until the write before it is `longest` ago,
/// but only where that one had `least` of them at least: where they come one by one, nothing is gained that
/// would be worth a timer. Time is any clock in milliseconds that does not go back.
class Gathering {
public:
    static constexpr std::uint64_t longest = 2;  ///< milliseconds
    static constexpr std::size_t least = 4;

    /// One more is there. True: it is written now; false: it is kept. `writes`: something is written now in
    /// any case.
    bool leaves_now(bool writes, std::uint64_t now) noexcept {
        if (writes) {
            ++together_;
            return true;
        }
        if (together_ >= least && now - written_ < longest) {
            return false;
        }
        left(1, now);
        return true;
    }

    /// Milliseconds until what is kept is to be written.
    std::uint64_t wait(std::uint64_t now) const noexcept {
        const std::uint64_t since = now - written_;
        return since < longest ? longest - since : 0;
    }

    /// So many of them, all that were kept, are written now.
    void left(std::size_t count, std::uint64_t now) noexcept {
        together_ = count;
        written_ = now;
    }

private:
    std::size_t together_ = 0;  // in the last write
    std::uint64_t written_ = 0;
};

}  // namespace rate_limit
