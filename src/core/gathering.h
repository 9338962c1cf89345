#pragma once

#include <cstddef>
#include <cstdint>

namespace rate_limit {

/// Decides when a connection writes commands to its socket whose answers no request waits for. If there are
/// many, it writes them together: for both sides a write, and waking the reader, costs more than a command
/// does.
///
/// The first such command waits for others until `longest` after the last write, but only if that write
/// carried at least `least` of them: where they come one by one, too little is gained to be worth a timer.
/// Times are of any clock in milliseconds that does not go back.
class Gathering {
public:
    static constexpr std::uint64_t longest = 2;  ///< milliseconds
    static constexpr std::size_t least = 4;

    /// There is one more command. True if the caller must write it now; false if it must keep it for later.
    /// `writes` says that the caller writes something now in any case.
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

    /// Milliseconds until the caller must write the commands that it has kept.
    std::uint64_t wait(std::uint64_t now) const noexcept {
        const std::uint64_t since = now - written_;
        return since < longest ? longest - since : 0;
    }

    /// The caller writes now all commands that it has kept: this many.
    void left(std::size_t count, std::uint64_t now) noexcept {
        together_ = count;
        written_ = now;
    }

private:
    std::size_t together_ = 0;   // how many commands the last write carried
    std::uint64_t written_ = 0;  // when that was
};

}  // namespace rate_limit
