#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/limit/rate.h"
#include "core/limit/window.h"

namespace rate_limit {

/// What became of one limit, and of a request under all its limits. The order is the precedence:
/// of several limits the greatest outcome is the request's.
enum class Outcome : std::uint8_t {
    none,  ///< no limit applies, or nothing is decided yet
    passed,
    error_allowed,
    error_local,
    rejected_dry_run,
    error_denied,
    rejected,
    bypassed,  ///< nothing was asked; never stands beside another outcome
};

/// The text of `$rate_limit_status`; empty for Outcome::none.
std::string_view to_string(Outcome outcome) noexcept;

/// The request ends with it.
constexpr bool is_refusal(Outcome outcome) noexcept {
    return outcome == Outcome::rejected || outcome == Outcome::error_denied;
}

/// One limit's part in the decision on one request.
struct Verdict {
    std::string_view name;  ///< the limit's name; outlives the verdict
    Rate rate;
    Window window;       ///< as stored, or {0, proposed reset} when none is open
    bool known = false;  ///< false: the store did not say, and `window` means nothing
    Outcome outcome = Outcome::none;
    bool never_fits = false;  ///< what the request costs is above the whole limit
    std::int64_t due = 0;     ///< what the request adds to the window: 0 where it is not charged
};

/// What a limit says of a window before the request: `check_charge` admits while used < limit.
/// Only for known windows; `dry_run` turns a rejection into Outcome::rejected_dry_run.
Outcome decide(const Rate& rate, const Window& window, bool dry_run) noexcept;

/// The request's outcome under all its limits; Outcome::none for none.
Outcome combine(const Verdict* verdicts, std::size_t count) noexcept;

/// Index of a verdict; none when there is no such verdict.
using VerdictIndex = std::optional<std::size_t>;

/// The limit that the `github` headers show: the first that rejected, else the known one with the least
/// remaining once what is due is counted in (the first of equals).
VerdictIndex shown(const Verdict* verdicts, std::size_t count) noexcept;

/// The limit that the variables describe: the one that is shown, but where the outcome is an error the first
/// that failed, whose window may be unknown.
VerdictIndex described(const Verdict* verdicts, std::size_t count) noexcept;

}  // namespace rate_limit
