#pragma once

#include <cstdint>

#include "ngx/ngx.h"

namespace rate_limit {

/// Lets one line a second pass and counts the rest.
class LogThrottle {
public:
    /// True when a line may be written now. `suppressed` gets how many were not, since the last that was.
    bool pass(std::uint64_t& suppressed) noexcept {
        const time_t now = ngx_time();
        if (now == last_) {
            ++suppressed_;
            return false;
        }
        last_ = now;
        suppressed = suppressed_;
        suppressed_ = 0;
        return true;
    }

private:
    time_t last_ = 0;
    std::uint64_t suppressed_ = 0;
};

}  // namespace rate_limit
