#include "ngx/wire/answer_log.h"

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
        line->throttle.tell(ngx_cycle->log);
    } catch (...) {
        // without memory the counters have to do
    }
}

void AnswerLog::Line::write(void* self, ngx_log_t* log) noexcept {
    Line& line = *static_cast<Line*>(self);
    u_char counted[64] = "";
    if (line.count > 1) {
        *ngx_snprintf(counted, sizeof counted - 1, " (%uL such answers since the last such line)",
                      line.count) = '\0';
    }
    line.count = 0;
    ngx_log_error(NGX_LOG_ERR, log, 0, "rate limit: %s answered %s: %s%s", line.owner.subject_.c_str(),
                  line.words.c_str(), explain(line.fault), counted);
}

}  // namespace rate_limit
