#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "limiter/log_throttle.h"
#include "redis/decode.h"

namespace rate_limit {

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
