#include "ngx/conf/limit_log.h"

#include "core/text/readable.h"
#include "ngx/conf/conf.h"

namespace rate_limit {

namespace {

constexpr std::size_t max_shown = 64;
// The addresses of these arrays differ, which tell the lines of a log throttle apart.
constexpr char cost_reason[] = "it is a whole number from 0 to 1000000000000";
constexpr char reserve_reason[] = "it is a whole number from 0 to 1000000000000";
constexpr char cost_noun[] = "cost";
constexpr char reserve_noun[] = "reserve";

/// The words for what counts instead of an invalid value; null: the limit is not checked.
const char* stands_in(const LimitLine& limit, const char* noun) noexcept {
    if (noun == cost_noun && limit.reserve != nullptr) {
        return "leaves what is reserved";
    }
    return noun == cost_noun || noun == reserve_noun ? "counts as 1" : nullptr;
}

}  // namespace

void LimitLog::bad_cost(ngx_http_request_t* r, const LimitLine& limit, std::string_view text) noexcept {
    unchecked(r, limit, cost_reason, cost_noun, text);
}

void LimitLog::bad_reserve(ngx_http_request_t* r, const LimitLine& limit, std::string_view text) noexcept {
    unchecked(r, limit, reserve_reason, reserve_noun, text);
}

void LimitLog::unchecked(ngx_http_request_t* r, const LimitLine& limit, const char* reason, const char* noun,
                         std::string_view text) noexcept {
    try {
        std::unique_ptr<Line>& line = lines_[{&limit, reason}];
        if (line == nullptr) {
            line = std::make_unique<Line>(limit, reason, noun);
        }
        if (noun != nullptr) {
            line->text = log_text(text, max_shown);
        }
        ++line->count;
        line->throttle.tell(log_of(*r->connection->log));
    } catch (...) {
        const ngx_str_t name = str(limit.name);
        if (const char* instead = stands_in(limit, noun); instead != nullptr) {
            ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                          "invalid %s of rate limit \"%V\" in %V:%ui %s: %s", noun, &name, &limit.file,
                          limit.line, instead, reason);
        } else {
            ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                          "rate limit \"%V\" in %V:%ui could not be checked: %s", &name, &limit.file,
                          limit.line, reason);
        }
    }
}

void LimitLog::Line::write(void* self, Log& to) noexcept {
    Line& line = *static_cast<Line*>(self);
    ngx_log_t* const log = &reinterpret_cast<ngx_log_t&>(to);
    const LimitLine& limit = line.limit;
    const ngx_str_t name = str(limit.name);
    u_char counted[64] = "";
    if (line.count > 1) {
        *ngx_snprintf(counted, sizeof counted - 1, " (%uL requests since the last such line)", line.count) =
            '\0';
    }
    line.count = 0;
    if (const char* instead = stands_in(limit, line.noun); instead != nullptr) {
        ngx_log_error(NGX_LOG_ERR, log, 0, "invalid %s \"%s\" of rate limit \"%V\" in %V:%ui %s: %s%s",
                      line.noun, line.text.c_str(), &name, &limit.file, limit.line, instead, line.reason,
                      counted);
    } else if (line.noun != nullptr) {
        ngx_log_error(NGX_LOG_ERR, log, 0,
                      "rate limit \"%V\" in %V:%ui could not be checked: invalid %s \"%s\": %s%s", &name,
                      &limit.file, limit.line, line.noun, line.text.c_str(), line.reason, counted);
    } else {
        ngx_log_error(NGX_LOG_ERR, log, 0, "rate limit \"%V\" in %V:%ui could not be checked: %s%s", &name,
                      &limit.file, limit.line, line.reason, counted);
    }
}

}  // namespace rate_limit
