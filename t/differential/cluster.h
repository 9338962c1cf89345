#pragma once

#include <string>

namespace rate_limit::world {

/// Compares what a node of a Redis Cluster says of keys and hash slots. `clock` is the library made of
/// clock.c. False if one answer differs, which it prints.
bool compare_cluster(const std::string& clock);

}  // namespace rate_limit::world
