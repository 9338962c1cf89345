#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/limit/window.h"

namespace rate_limit {

/// Keys longer than this never reach Redis as they are: they are digested.
constexpr std::size_t max_plain_key = 128;

/// Room for everything in a Redis key but prefix, name and key: '/', the period's digits, 'c', ':' or '#'.
constexpr std::size_t max_window_key_overhead = 24;

/// Writes `PREFIX NAME '/' SECONDS ['c'] (':' | '#') KEY`, the Redis key of a window, to `out` and returns
/// its end. `out` has room for all four parts and max_window_key_overhead. `digested` says that `key` is a
/// digest in hex.
char* write_window_key(char* out, std::string_view prefix, std::string_view name, std::int64_t period,
                       WindowKind kind, std::string_view key, bool digested) noexcept;

}  // namespace rate_limit
