#include "core/limit/quota.h"

#include <algorithm>
#include <limits>

#include "core/decimal.h"

namespace rate_limit {
namespace {

/// Writes a value at `text`, and moves `text` behind it.
Field field(std::string_view name, std::int64_t value, char*& text) noexcept {
    char* const begin = text;
    text = append(text, value);
    return {name, {begin, static_cast<std::size_t>(text - begin)}};
}

/// Appends `"NAME";A=N`, the begin of a list member in structured fields. A limit's name never needs
/// escaping.
char* append_member(char* out, std::string_view name, bool first, std::string_view a,
                    std::int64_t value) noexcept {
    out = append(append(out, first ? "\"" : ", \""), name);
    return append(append(out, a), value);
}

}  // namespace

Quota quota_of(const Verdict& verdict, Millis now) noexcept {
    const std::int64_t limit = verdict.rate.limit;
    const bool spent = verdict.outcome == Outcome::rejected || verdict.outcome == Outcome::rejected_dry_run;

    Quota quota;
    quota.name = verdict.name;
    quota.limit = limit;
    quota.period = verdict.rate.calendar != Calendar::none ? 0 : verdict.rate.period;
    quota.slots = verdict.slots;
    quota.has_reset = !verdict.slots || verdict.outcome == Outcome::rejected;
    quota.retry = verdict.outcome == Outcome::rejected && !verdict.never_fits;

    // A window that was reset while the request was under way may have less than the request brought.
    const std::int64_t used = std::max<std::int64_t>(0, verdict.window.used);
    const std::int64_t room = std::numeric_limits<std::int64_t>::max() - used;
    quota.used = used + std::min(verdict.due, room);
    const bool full = spent && !verdict.never_fits;
    quota.remaining = full ? 0 : std::max<std::int64_t>(0, limit - quota.used);
    // A bucket that the request took nothing from is full now.
    const Millis reset = verdict.bucket && !spent && quota.used == 0 ? now : verdict.window.reset;
    quota.reset = reset_seconds(reset);
    quota.until =
        verdict.in_flight != 0 ? 1 : std::max<std::int64_t>(full ? 1 : 0, seconds_until(reset, now));
    quota.wait = quota.until + verdict.spread;
    if (verdict.bucket) {
        quota.used = limit - quota.remaining;
    }
    return quota;
}

Field* put_github_fields(Field* out, const Quota& quota, char* text, std::string_view limit) noexcept {
    constexpr std::string_view limit_name = "X-RateLimit-Limit";
    *out++ = limit.empty() ? field(limit_name, quota.limit, text) : Field{limit_name, limit};
    *out++ = field("X-RateLimit-Used", quota.used, text);
    *out++ = field("X-RateLimit-Remaining", quota.remaining, text);
    if (quota.has_reset) {
        *out++ = field("X-RateLimit-Reset", quota.reset, text);
    }
    *out++ = {"X-RateLimit-Resource", quota.name};
    return out;
}

Field retry_after_field(const Quota& quota, char* text) noexcept {
    return field(retry_after_name, quota.wait, text);
}

char* append_policy(char* out, const Quota& quota, bool first) noexcept {
    out = append_member(out, quota.name, first, "\";q=", quota.limit);
    if (quota.slots) {
        return append(out, std::string_view(";qu=\"concurrent-requests\""));
    }
    return quota.period != 0 ? append(append(out, ";w="), quota.period) : out;
}

char* append_limit(char* out, const Quota& quota, bool first) noexcept {
    out = append_member(out, quota.name, first, "\";r=", quota.remaining);
    return quota.slots ? out : append(append(out, ";t="), quota.until);
}

char* append_verdict(char* out, const Verdict& verdict, Millis now) noexcept {
    const std::string_view outcome = to_string(verdict.outcome);
    out = append(append(out, verdict.name), "=");
    out = append(append(out, outcome.empty() ? "-" : outcome), ":");
    out = verdict.known ? append(out, quota_of(verdict, now).used) : append(out, "-");
    out = append(out, "/");
    return verdict.rate.period != 0 ? append(out, verdict.rate.limit) : append(out, "-");
}

}  // namespace rate_limit
