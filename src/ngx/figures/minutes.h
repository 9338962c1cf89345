#pragma once

#include "core/text/json_text.h"
#include "ngx/conf/conf.h"
#include "ngx/conf/tallies.h"

namespace rate_limit {

/// Gives the limits of a configuration, whose tallies are there, their lines in the zone's last hour.
void place_minutes(const MainConf& main) noexcept;

/// From now on this worker is one of those of which one puts down, at the begin of each minute, what all
/// limits have counted. Called when it starts.
void start_minutes() noexcept;

/// Writes the array `minutes`, of the last hour of one limit: empty where the zone has no room for it.
/// Throws std::bad_alloc.
void write_minutes(JsonText& json, const MainConf& main, const Tally& tally);

}  // namespace rate_limit
