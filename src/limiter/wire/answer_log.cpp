#include "limiter/wire/answer_log.h"

#include <cinttypes>
#include <cstdio>

#include "redis/server_words.h"

namespace rate_limit {

void AnswerLog::add(Fault fault, std::string_view command, const Reply& reply) noexcept {
    try {
        std::unique_ptr<Line>& line = lines_[static_cast<std::size_t>(fault)];
        if (line == nullptr) {
            line = std::make_unique<Line>(*this, fault);
        }
        line->words = reply.is_error() ? server_words(command, reply.text_view()) : std::string(command);
        ++line->count;
        line->throttle.tell(process_log());
    } catch (...) {
        // without memory the counters have to do
    }
}

void AnswerLog::Line::write(void* self, Log& log) noexcept {
    Line& line = *static_cast<Line*>(self);
    char counted[64] = "";
    if (line.count > 1) {
        (void)std::snprintf(counted, sizeof counted, " (%" PRIu64 " such answers since the last such line)",
                            line.count);
    }
    line.count = 0;
    log_line(log, LogLevel::error, "rate limit: %s answered %s: %s%s", line.owner.subject_.c_str(),
             line.words.c_str(), explain(line.fault), counted);
}

}  // namespace rate_limit
