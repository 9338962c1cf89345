#pragma once

#include <cstdint>

#include "limiter/loop.h"

namespace rate_limit {

/// The time that one request for an operator may take of a turn of the event loop: its last step comes on
/// top.
class Turn {
public:
    Turn() noexcept : begun_(steady_nanos()) {}

    bool spent() const noexcept { return steady_nanos() - begun_ >= longest; }

private:
    static constexpr std::int64_t longest = 500'000;  // ns

    const std::int64_t begun_;
};

}  // namespace rate_limit
