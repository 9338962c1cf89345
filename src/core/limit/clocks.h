#pragma once

#include <cstdint>

#include "core/limit/window.h"

namespace rate_limit {

/// How far the clocks of two workers may be apart, in milliseconds: each reads its own once in a turn of its
/// event loop, so that one may find what another has noted to lie ahead.
constexpr Millis clocks_apart = 1000;

/// Milliseconds since `then`, of which a record has the low half, as `now` is or has; less than 2^32. 0:
/// another worker has noted it by a clock that is ahead. Further ahead lies what was noted before the clock
/// was set back: it is long ago.
constexpr Millis since(std::uint32_t then, Millis now) noexcept {
    const auto low = static_cast<std::uint32_t>(now);
    return then - low <= clocks_apart ? 0 : static_cast<Millis>(low - then);
}

/// Whether the clock was set back after it had said `then`.
constexpr bool is_set_back(Millis then, Millis now) noexcept {
    return then - now > clocks_apart;
}

}  // namespace rate_limit
