#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/limit/decision.h"

namespace rate_limit {

/// The numbers a client is shown for one limit.
struct Quota {
    std::string_view name;
    std::int64_t limit = 0;
    std::int64_t period = 0;     ///< seconds; 0: one of a calendar
    std::int64_t used = 0;       ///< including this request if it is charged; of a bucket limit - remaining
    std::int64_t remaining = 0;  ///< never below 0; exactly 0 when rejected, unless the cost never fits
    std::int64_t reset = 0;      ///< UTC epoch seconds, rounded up
    std::int64_t until = 0;      ///< whole seconds until there may be more, rounded up: `t`
    std::int64_t wait = 0;       ///< as many and the verdict's spread: Retry-After
    bool slots = false;          ///< the limit counts requests that run: there is no period
    bool has_reset = true;       ///< false: `reset` and `until` mean nothing
    bool retry = false;          ///< rejected, not in a dry run, and the same request may pass later
};

/// The numbers of one limit, counting in what the request is due to be charged. There is more at the reset;
/// in a second, where requests that run fill the window. A rejection says a second at least.
Quota quota_of(const Verdict& verdict, Millis now) noexcept;

/// One response header. `name` is a constant; `value` points to where it was written, or is the limit's name.
struct Field {
    std::string_view name;
    std::string_view value;
};

/// The `github` headers, in this order: X-RateLimit-Limit, -Used, -Remaining, -Reset, -Resource.
constexpr std::size_t github_fields = 5;
constexpr std::size_t max_github_text = std::size_t{4} * 20;  ///< four numbers

/// Puts the headers at `out`, which has room for them, and returns the new end; the reset is left out where
/// there is none. Writes their numbers at
/// `text`, which has room for max_github_text bytes. The limit's name is not copied, nor are its digits where
/// the caller has them.
Field* put_github_fields(Field* out, const Quota& quota, char* text, std::string_view limit = {}) noexcept;

constexpr std::string_view retry_after_name = "Retry-After";

/// Its value where an error denies a request: no number of a limit is the reason.
constexpr std::string_view denied_retry = "1";

/// The most bytes that the value of Retry-After takes.
constexpr std::size_t max_retry_after = 20;

/// The Retry-After of a rejection: whole seconds, at least 1. Writes the number at `text`, which has room for
/// max_retry_after bytes.
Field retry_after_field(const Quota& quota, char* text) noexcept;

constexpr std::string_view policy_field_name = "RateLimit-Policy";
constexpr std::string_view limit_field_name = "RateLimit";

/// The most bytes that one list member of an `ietf` header takes, with the separator before it.
constexpr std::size_t max_ietf_member = 96;

/// Appends a member of RateLimit-Policy, `"core";q=5000;w=3600`, or `"slots";q=20;qu="concurrent-requests"`
/// (draft-ietf-httpapi-ratelimit-headers-11), at `out`, after `, ` unless it is the `first` one, and returns
/// the new end. `out` has room for max_ietf_member bytes.
char* append_policy(char* out, const Quota& quota, bool first) noexcept;

/// Appends a member of RateLimit, `"core";r=4999;t=3540`, or `"slots";r=3`, as append_policy() does.
char* append_limit(char* out, const Quota& quota, bool first) noexcept;

/// The most bytes that append_verdict() writes beside the limit's name.
constexpr std::size_t max_verdict = 60;

/// Appends `core=PASSED:17/5000`. A limit that another one left undecided has a dash for its outcome; one
/// whose window is not known, for what is used; one whose rate is none, for its limit. Returns the new end.
char* append_verdict(char* out, const Verdict& verdict, Millis now) noexcept;

}  // namespace rate_limit
