#pragma once

#include "core/queue.h"
#include "limiter/loop.h"

namespace rate_limit {

/// One cause of log lines: a line a second at most. What happens in between is counted by the owner and told
/// with the next line, which comes when that second is over, or when the worker ends.
///
/// The owner declares it after whatever `write` uses: its destructor may still write.
class LogThrottle : public Place<LogThrottle> {
public:
    /// Writes one line about all that the owner has counted since the line before, and starts to count anew.
    using Write = void (*)(void* owner, Log& log) noexcept;

    LogThrottle(Write write, void* owner) noexcept : write_(write), owner_(owner) {}
    ~LogThrottle() { tell_rest(); }
    LogThrottle(const LogThrottle&) = delete;
    LogThrottle& operator=(const LogThrottle&) = delete;

    /// The owner has something to tell: it is asked to write now, to `log`, or within a second, to the log of
    /// the process.
    void tell(Log& log) noexcept;

    /// Writes now what is held back.
    void tell_rest() noexcept;

    /// Drops what is held back: it is not worth a line any more.
    void forget() noexcept;

    /// Writes now what all throttles of this worker hold back: it is about to end.
    static void tell_all_rest() noexcept;

private:
    struct Untold;  // the throttles of this worker that hold something back, and their timer

    static Untold& untold() noexcept;
    void write(Log& log) noexcept;

    const Write write_;
    void* const owner_;
    bool held_back_ = false;  // it stands in untold()
    Msec written_ = 0;
    bool ever_written_ = false;
};

}  // namespace rate_limit
