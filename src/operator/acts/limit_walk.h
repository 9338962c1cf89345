#pragma once

#include <cstddef>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/overrides/known_overrides.h"
#include "limiter/configuration.h"

namespace rate_limit {

/// How far an act has gone over its limits, and what it looks up meanwhile.
struct LimitWalk {
    std::size_t next = 0;
    std::unordered_map<std::string_view, std::vector<const Limit*>> named;  ///< in the order of their lines
    std::unordered_map<OverrideSubject, Override, HashOfSubject> overrides;
};

}  // namespace rate_limit
