#pragma once

#include <vector>

#include "core/overrides/override.h"
#include "core/text/json_text.h"
#include "core/text/metrics_text.h"
#include "limiter/configuration.h"
#include "limiter/tallies/tallies.h"

namespace rate_limit {

/// An override of a limit that is configured.
struct ShownOverride {
    const Tally* limit;
    Override what;
};

/// Those that hold, in the order of their limits; of one limit the newest first. Throws std::bad_alloc.
std::vector<ShownOverride> overrides_of(const Configuration& main);

/// Writes an element of the array `overrides`. The text of keys is shown only where `plain` says so. Throws
/// std::bad_alloc.
void write_override(JsonText& json, const ShownOverride& shown, bool plain);

/// Writes the metric. Throws std::bad_alloc.
void write_override_metrics(MetricsText& text, const Configuration& main);

}  // namespace rate_limit
