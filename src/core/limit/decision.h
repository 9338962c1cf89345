#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/limit/rate.h"
#include "core/limit/window.h"

namespace rate_limit {

/// The decision of one limit about a request, or of all its limits together. The order is the precedence: the
/// greatest outcome of its limits is the request's.
enum class Outcome : std::uint8_t {
    none,  ///< no limit applies, or nothing is decided yet
    passed,
    error_allowed,
    error_local,
    rejected_dry_run,
    error_denied,
    rejected,
    bypassed,  ///< no limit was asked; never combined with another outcome
};

/// The text of `$rate_limit_status`; empty for Outcome::none.
std::string_view to_string(Outcome outcome) noexcept;

/// Whether a request with this outcome is refused.
constexpr bool is_refusal(Outcome outcome) noexcept {
    return outcome == Outcome::rejected || outcome == Outcome::error_denied;
}

/// One limit's part in the decision on one request.
struct Verdict {
    std::string_view name;  ///< the limit's name; outlives the verdict
    Rate rate;
    Window window;       ///< the window as stored, or {0, proposed reset} when none is open
    bool known = false;  ///< false: the store gave no answer, and `window` means nothing
    Outcome outcome = Outcome::none;
    bool hidden = false;      ///< it decides, and is not shown
    bool slots = false;       ///< the limit counts requests that run: `window` has no end but for a rejection
    bool bucket = false;      ///< a token bucket: `window` ends when one more token is there
    bool never_fits = false;  ///< the request costs more than the whole limit
    std::int64_t spread = 0;  ///< seconds that Retry-After says beyond the end
    std::int64_t due = 0;     ///< cost that the request adds to the window; 0 if it is not charged

    /// How many requests are in flight in the window, where it has no room only because of them; 0 where the
    /// request is not refused, or would be without them.
    std::int64_t in_flight = 0;
};

/// The spread of a key: 0 to `most` seconds, on all machines the same (FNV-1a).
std::int64_t spread_of(std::string_view key, std::int64_t most) noexcept;

/// The request's outcome under all its limits; Outcome::none if it has none.
Outcome combine(const Verdict* verdicts, std::size_t count) noexcept;

/// The index of a verdict; empty when there is no such verdict.
using VerdictIndex = std::optional<std::size_t>;

/// Which limit the `github` headers show, of those that are not hidden: the first one that rejected; else the
/// first that would have, were it not in a dry run; else, of those whose window is known, the first with the
/// least remaining, after what is due. Limits of running requests give way to all others.
VerdictIndex shown(const Verdict* verdicts, std::size_t count) noexcept;

/// Which limit Retry-After is about: of those that rejected the one that is shown; else the first, which is
/// hidden.
VerdictIndex rejecting(const Verdict* verdicts, std::size_t count) noexcept;

/// Which limit the variables describe: the one that is shown; but if the request's outcome is an error, the
/// first limit that failed, whose window may be unknown. Where all are hidden, the first that rejected, else
/// the first.
VerdictIndex described(const Verdict* verdicts, std::size_t count) noexcept;

/// Whether the name of a variable can mean a limit of this name: in those a `-` or a `.` is a `_`, and case
/// is ignored.
bool is_named_in_variable(std::string_view limit, std::string_view variable) noexcept;

/// The limit of the name that a variable has. Of several the one that would be shown; where none could be,
/// the first.
VerdictIndex named(const Verdict* verdicts, std::size_t count, std::string_view variable) noexcept;

}  // namespace rate_limit
