#include "core/limit/quota.h"

#include <algorithm>
#include <limits>

#include "core/append.h"

namespace rate_limit {
namespace {

/// Writes a value at `text`, and moves `text` behind it.
Field field(std::string_view name, std::int64_t value, char*& text) noexcept {
    char* const begin = text;
    text = append(text, value);
    return {name, {begin, static_cast<std::size_t>(text - begin)}};
}

/// Appends `"NAME";A=N;B=N`, a list member in structured fields. A limit's name never needs escaping.
char* append_member(char* out, std::string_view name, bool first, std::string_view a, std::int64_t a_value,
                    std::string_view b, std::int64_t b_value) noexcept {
    out = append(out, first ? "\"" : ", \"");
    out = append(out, name);
    out = append(append(out, a), a_value);
    return append(append(out, b), b_value);
}

}  // namespace

Quota quota_of(const Verdict& verdict, Millis now) noexcept {
    const std::int64_t limit = verdict.rate.limit;
    const bool spent = verdict.outcome == Outcome::rejected || verdict.outcome == Outcome::rejected_dry_run;

    Quota quota;
    quota.name = verdict.name;
    quota.limit = limit;
    quota.period = verdict.rate.period;
    quota.retry = verdict.outcome == Outcome::rejected && !verdict.never_fits;

    // Where the window was reset while the request was under way, it may have less than the request brought.
    const std::int64_t used = std::max<std::int64_t>(0, verdict.window.used);
    const std::int64_t room = std::numeric_limits<std::int64_t>::max() - used;
    quota.used = used + std::min(verdict.due, room);
    quota.remaining = spent && !verdict.never_fits ? 0 : std::max<std::int64_t>(0, limit - quota.used);
    quota.reset = reset_seconds(verdict.window.reset);
    quota.until = seconds_until(verdict.window.reset, now);
    return quota;
}

GithubFields github_fields(const Quota& quota, char* text) noexcept {
    GithubFields github;
    github.fields[0] = field("X-RateLimit-Limit", quota.limit, text);
    github.fields[1] = field("X-RateLimit-Used", quota.used, text);
    github.fields[2] = field("X-RateLimit-Remaining", quota.remaining, text);
    github.fields[3] = field("X-RateLimit-Reset", quota.reset, text);
    github.fields[4] = {"X-RateLimit-Resource", quota.name};
    return github;
}

Field retry_after_field(const Quota& quota, char* text) noexcept {
    return field(retry_after_name, std::max<std::int64_t>(1, quota.until), text);
}

char* append_policy(char* out, const Quota& quota, bool first) noexcept {
    return append_member(out, quota.name, first, "\";q=", quota.limit, ";w=", quota.period);
}

char* append_limit(char* out, const Quota& quota, bool first) noexcept {
    return append_member(out, quota.name, first, "\";r=", quota.remaining, ";t=", quota.until);
}

}  // namespace rate_limit
