#pragma once

#include <ostream>

#include "t/world/configured.h"

namespace rate_limit::world {

/// A limit that a scenario is tried with, and the words for it.
struct Way {
    const char* name;
    LimitSetup limit;
};

inline std::ostream& operator<<(std::ostream& out, const Way& way) {
    return out << way.name;
}

}  // namespace rate_limit::world
