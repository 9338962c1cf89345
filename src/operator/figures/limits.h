#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "core/counts/last_hour.h"
#include "core/limit/decision.h"
#include "limiter/configuration.h"
#include "limiter/tallies/tallies.h"
#include "operator/figures/columns.h"

namespace rate_limit {

// Figures of limits, and of all requests.

/// A way in which a request can end.
struct Ending {
    Outcome outcome;
    std::string_view name;   ///< for programs
    std::string_view words;  ///< for people
};

/// All of them, in the order in which they are told.
constexpr Ending endings[] = {
    {Outcome::passed, "passed", "passed"},
    {Outcome::rejected, "rejected", "rejected"},
    {Outcome::rejected_dry_run, "rejected_dry_run", "rejected in a dry run"},
    {Outcome::error_local, "error_local", "error, decided by memory"},
    {Outcome::error_allowed, "error_allowed", "error, allowed"},
    {Outcome::error_denied, "error_denied", "error, denied"},
    {Outcome::bypassed, "bypassed", "bypassed"},
};

/// By limit, and then by period.
struct ByLimit {
    bool operator()(const Rate& a, const Rate& b) const noexcept {
        return std::tie(a.limit, a.period, a.calendar) < std::tie(b.limit, b.period, b.calendar);
    }
};
using Rates = std::set<Rate, ByLimit>;

struct ToldLimit {
    const Tally* tally;
    Rates rates;

    // Running requests of a limit on this machine, and the slots that it holds for them in Redis, as counted
    // within a second. Empty where there are none.
    std::optional<std::uint64_t> running;
    std::optional<std::uint64_t> slots;

    std::set<std::int64_t> bursts;  ///< of buckets whose burst the configuration says

    // Its decisions, by Minute, for the page alone.
    static constexpr std::size_t late_minutes = 5;
    LastHour::Counts hour{};    ///< in the last hour
    LastHour::Counts lately{};  ///< in the last late_minutes
};

/// Which rates of limits are meant.
enum class OfRates : unsigned char { constant, also_seen };

/// Tallies::all() with these rates, and in the end Tallies::others(), if there are. Throws std::bad_alloc.
std::vector<ToldLimit> limits_of(const Configuration& main, OfRates rates);

/// The tallies of Tallies::all() by their digests. Throws std::bad_alloc.
std::unordered_map<std::uint64_t, const Tally*> tallies_by_digest(const Configuration& main);

/// Whether the limit is in a dry run for all; where a variable says, it is not.
bool is_dry(const Tally& tally) noexcept;

/// Decisions of limits, but for what is told of each minute.
extern const Sheet<ToldLimit> limit_sheet;

/// The page's columns about running requests.
extern const Columns<ToldLimit> running_columns;

}  // namespace rate_limit
