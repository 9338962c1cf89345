#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "limiter/log_throttle.h"
#include "redis/decode.h"

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
    /// differs, or if `words`, the server's own, come for the first time.
    void failed(const char* what, std::string_view reason, std::string_view words = {}) noexcept;

    /// It works again.
    void ended() noexcept { ended(recovered_); }

    /// It is over for another reason: static text such as "is not used any more".
    void ended(const char* how) noexcept;

private:
    static constexpr std::size_t most_reasons = 8;
    static constexpr Msec reminder = 60'000;

    struct Reason {
        std::string text;
        bool with_words;
    };

    static void write(void* self, Log& log) noexcept;
    bool note(std::string_view reason, std::string_view words);

    const std::string& subject_;
    const char* const recovered_;
    const LogLevel level_;
    const char* what_ = "";
    std::vector<Reason> reasons_;  // this outage's
    std::string reason_;           // the last one, with the server's words
    bool lasts_ = false;
    bool told_ = false;          // the log says that it lasts, so it must say when it ends
    Msec since_ = 0;             // when it began
    Msec told_at_ = 0;           // the last line about it
    std::uint64_t outages_ = 0;  // that began since the last line
    LogThrottle throttle_;
};

/// The log of one store's servers that other servers name and that have not been up yet: whoever names
/// servers that do not exist would fill the log otherwise. A few of them in a minute have lines of their own;
/// the number of the others is told.
class NewcomerLog {
public:
    explicit NewcomerLog(std::string_view store) : store_(store) {}

    /// The one of this worker. Throws std::bad_alloc.
    static NewcomerLog& of(const std::string& store);

    /// Lets one more have lines of its own. False: there were enough in this minute.
    bool admit() noexcept;

    /// One more has none: `subject` names it, the rest is as in OutageLog::failed(). Throws std::bad_alloc.
    void hold_back(std::string_view subject, const char* what, std::string_view reason);

private:
    struct All;

    static constexpr std::uint64_t most_in_a_minute = 16;
    static constexpr Msec minute = 60'000;

    static void write(void* self, Log& log) noexcept;

    const std::string store_;
    std::string last_;
    std::uint64_t held_back_ = 0;  // since the last line
    std::uint64_t admitted_ = 0;   // in this minute
    Msec minute_ = 0;              // when that began
    LogThrottle throttle_{write, this};
};

/// The log of what one server answers instead of what was asked for: for each Fault a line a second at most,
/// with the server's own words.
class AnswerLog {
public:
    /// `subject` names the server, and outlives this.
    explicit AnswerLog(const std::string& subject) noexcept : subject_(subject) {}
    AnswerLog(const AnswerLog&) = delete;
    AnswerLog& operator=(const AnswerLog&) = delete;

    /// `command` as in server_words().
    void add(Fault fault, std::string_view command, const Reply& reply) noexcept;

private:
    struct Line {
        Line(const AnswerLog& of, Fault what) noexcept : owner(of), fault(what) {}
        static void write(void* self, Log& log) noexcept;

        const AnswerLog& owner;
        const Fault fault;
        std::string words;  // the last ones
        std::uint64_t count = 0;
        LogThrottle throttle{write, this};
    };

    const std::string& subject_;
    std::array<std::unique_ptr<Line>, fault_count> lines_;
};

}  // namespace rate_limit
