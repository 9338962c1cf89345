#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "limiter/loop.h"

namespace rate_limit::world {

/// The event loop of simulated workers: the other side of limiter/loop.h. Time stands still until it is
/// moved, so that nothing depends on how busy a machine is. There is one at a time, and it outlives every
/// Timer.
class Loop {
public:
    Loop() noexcept;
    ~Loop();
    Loop(const Loop&) = delete;
    Loop& operator=(const Loop&) = delete;

    static Loop& current() noexcept { return *current_; }

    Msec now() const noexcept { return now_; }

    /// Moves time by `wait` milliseconds. Every timer that is due on the way fires at its own millisecond,
    /// those of one millisecond in the order in which they were set; what is put at the end of a turn comes
    /// before the next timer.
    void pass(Msec wait);

    /// Lines of the log since the last call.
    std::vector<std::string> take_lines() { return std::exchange(lines_, {}); }

    bool leaving = false;                   ///< as is_leaving() says
    Millis wall_clock = 1'800'000'000'000;  ///< UTC at time 0; a test may set it

private:
    friend class rate_limit::Timer;
    friend void rate_limit::log_line(Log& log, LogLevel level, const char* format, ...) noexcept;
    friend std::uint32_t rate_limit::random_bits() noexcept;

    /// When an event is due, and which one came first; the end of a turn is before all that is due later.
    using Place = std::pair<Msec, std::uint64_t>;

    void end_turn();

    static Loop* current_;

    Msec now_ = 1'000'000;
    std::uint64_t set_ = 0;  // how many events so far
    std::map<Place, Timer*> timers_;
    std::map<std::uint64_t, Timer*> end_of_turn_;
    std::uint64_t random_ = 1;
    std::vector<std::string> lines_;
};

}  // namespace rate_limit::world
