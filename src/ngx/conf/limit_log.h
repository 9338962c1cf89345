#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "limiter/log_throttle.h"
#include "ngx/base/ngx.h"

namespace rate_limit {

struct Limit;
struct LimitLine;

/// Logs what goes wrong with the limits of one configuration: a line a second for each limit and each kind of
/// reason, with a count. Lives as long as the configuration's limits; each worker counts by itself.
class LimitLog {
public:
    LimitLog() = default;
    LimitLog(const LimitLog&) = delete;
    LimitLog& operator=(const LimitLog&) = delete;

    /// The limit could not be checked. `reason` is static text: its address tells the kind. Where the text
    /// that a variable gave is the reason, `noun`, static too, says what it was to be, such as "rate".
    void unchecked(ngx_http_request_t* r, const LimitLine& limit, const char* reason,
                   const char* noun = nullptr, std::string_view text = {}) noexcept;

    /// A variable was to give the cost, and its text is no cost.
    void bad_cost(ngx_http_request_t* r, const LimitLine& limit, std::string_view text) noexcept;

    /// A cost to be reserved that is none, told as bad_cost() does.
    void bad_reserve(ngx_http_request_t* r, const LimitLine& limit, std::string_view text) noexcept;

private:
    struct Line {
        Line(const LimitLine& of, const char* why, const char* what) noexcept
            : limit(of), reason(why), noun(what) {}
        static void write(void* self, Log& log) noexcept;

        const LimitLine& limit;
        const char* const reason;
        const char* const noun;  // the kind of value that `text` was to be; null: there is no text
        std::string text;        // the last one that was wrong, fit for a log
        std::uint64_t count = 0;
        LogThrottle throttle{write, this};
    };

    std::map<std::pair<const LimitLine*, const char*>, std::unique_ptr<Line>> lines_;
};

}  // namespace rate_limit
