#pragma once

#include <memory>
#include <vector>

#include "limiter/loop.h"

namespace rate_limit {

/// Memory that lives as long as one simulated request.
struct RequestMemory {
    std::vector<std::unique_ptr<char[]>> blocks;
};

}  // namespace rate_limit
