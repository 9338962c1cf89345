#pragma once

#include <cstddef>

#include "core/counts/last_hour.h"
#include "core/text/json_text.h"
#include "limiter/configuration.h"
#include "limiter/tallies/tallies.h"
#include "operator/figures/stores.h"

namespace rate_limit {

// Indices of LastHour::Counts, by which each minute of the last hour is counted.

/// Counts of a limit.
struct Minute {
    enum : std::size_t { passed, rejected, rejected_dry_run, errors };
};

/// Counts of a shard's lost charges, refunds and reservations.
struct LostWrites {
    enum : std::size_t { dropped, in_doubt };
};

/// Gives the limits of a configuration, whose tallies are there, and what else is counted by minutes, their
/// lines in the zone's last hour.
void place_minutes(const Configuration& main) noexcept;

/// From now on this worker is one of those of which one puts down, at the begin of each minute, what all
/// limits have counted. Called when it starts.
void start_minutes() noexcept;

// Each false, and all 0: the zone has no room for its hour.

bool read_hour(const Configuration& main, const Tally& tally, LastHour::Hour& hour) noexcept;
bool read_hour(const Configuration& main, const ShardFigures& shard, LastHour::Hour& hour);

/// Reads what has given way for want of room in the zone: the counts are those of Pressure.
bool read_hour_of_room(const Configuration& main, LastHour::Hour& hour) noexcept;

/// Writes the array `minutes`, of the last hour of one limit: empty where the zone has no room for it.
/// Throws std::bad_alloc.
void write_minutes(JsonText& json, const Configuration& main, const Tally& tally);

}  // namespace rate_limit
