#pragma once

#include <vector>

#include "core/overrides/override.h"
#include "limiter/configuration.h"
#include "limiter/tallies/tallies.h"
#include "operator/figures/columns.h"

namespace rate_limit {

/// An override of a limit that is configured.
struct ShownOverride {
    const Tally* limit;
    Override what;  ///< its text is that of the whole key, and empty where that is not to be shown
};

/// Those that hold, in the order of their limits; of one limit the newest first. The text of keys is shown
/// only where `plain` says so. Throws std::bad_alloc.
std::vector<ShownOverride> overrides_of(const Configuration& main, bool plain);

/// Whose override it is, and then what it says.
extern const Columns<ShownOverride> override_subject_columns;
extern const Columns<Override> override_columns;

/// Writes the metric. Throws std::bad_alloc.
void write_override_metrics(MetricsText& text, const std::vector<ShownOverride>& all);

}  // namespace rate_limit
