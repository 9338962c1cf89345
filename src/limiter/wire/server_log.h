#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "limiter/log_throttle.h"

namespace rate_limit {

/// The log of one thing's outages: their begin, each new reason, once a minute how long one
/// has lasted, and the end. A thing that fails again and again has one line a second, with a count.
class OutageLog {
public:
    /// `subject` begins each line, and outlives this; `recovered`, static text such as "is up again", ends
    /// the last one.
    OutageLog(const std::string& subject, const char* recovered, LogLevel level = LogLevel::error) noexcept
        : subject_(subject), recovered_(recovered), level_(level), throttle_(write, this) {}

    /// It failed, perhaps again. `what` is static text such as "is down". A reason is new if `reason`
    /// differs; `words`, the server's own, may be empty.
    void failed(const char* what, std::string_view reason, std::string_view words = {}) noexcept;

    /// It works again.
    void ended() noexcept { ended(recovered_); }

    /// It is over for another reason: static text such as "is not used any more".
    void ended(const char* how) noexcept;

private:
    static constexpr std::size_t most_reasons = 8;
    static constexpr Msec reminder = 60'000;

    static void write(void* self, Log& log) noexcept;
    bool note(std::string_view reason, std::string_view words);

    const std::string& subject_;
    const char* const recovered_;
    const LogLevel level_;
    const char* what_ = "";
    std::vector<std::string> reasons_;  // this outage's
    std::string reason_;                // the last one, with the server's words
    bool lasts_ = false;
    bool told_ = false;          // the log says that it lasts, so it must say when it ends
    Msec since_ = 0;             // when it began
    Msec told_at_ = 0;           // the last line about it
    std::uint64_t outages_ = 0;  // that began since the last line
    LogThrottle throttle_;
};

}  // namespace rate_limit
