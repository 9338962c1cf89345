#pragma once

#include <vector>

#include "bench/simulate/setup.h"

namespace rate_limit::simulated {

/// The named scenarios, in the order of the tables. Each is run in all ways.
const std::vector<Setup>& cells();

}  // namespace rate_limit::simulated
