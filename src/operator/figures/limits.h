#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "core/limit/decision.h"
#include "limiter/configuration.h"
#include "limiter/tallies/tallies.h"

namespace rate_limit {

// Facts about limits that the console tells beside their counters.

/// Outcomes that a limit can decide, in the order in which they are told.
constexpr std::array<Outcome, 6> decided_outcomes = {Outcome::passed,           Outcome::rejected,
                                                     Outcome::rejected_dry_run, Outcome::error_local,
                                                     Outcome::error_allowed,    Outcome::error_denied};

/// How a request can end.
constexpr std::array<Outcome, 7> request_outcomes = {
    Outcome::passed,        Outcome::rejected,     Outcome::rejected_dry_run, Outcome::error_local,
    Outcome::error_allowed, Outcome::error_denied, Outcome::bypassed};

/// By limit, and then by period.
struct ByLimit {
    bool operator()(const Rate& a, const Rate& b) const noexcept {
        return std::tie(a.limit, a.period, a.month) < std::tie(b.limit, b.period, b.month);
    }
};
using Rates = std::set<Rate, ByLimit>;

/// Running requests of a limit on this machine, and the slots that it holds for them in Redis, as counted
/// within a second. Empty where there are none.
struct RunningFigures {
    std::optional<std::uint64_t> running;
    std::optional<std::uint64_t> slots;
};

struct ToldLimit {
    const Tally* tally;
    Rates rates;
    RunningFigures now;
};

/// Tallies::all() with their constant rates, and in the end Tallies::others(), if there are. Throws
/// std::bad_alloc.
std::vector<ToldLimit> limits_of(const Configuration& main);

/// Limits as limits_of() has them, with the variable rates that were seen. Throws std::bad_alloc.
std::vector<ToldLimit> limits_with_seen_rates(const Configuration& main);

/// Whether the limit is in a dry run for all; where a variable says, it is not.
bool is_dry(const Tally& tally) noexcept;

}  // namespace rate_limit
