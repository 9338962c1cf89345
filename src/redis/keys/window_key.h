#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/limit/window.h"

namespace rate_limit {

/// Keys longer than this, in bytes, are always digested before they are sent to Redis.
constexpr std::size_t max_plain_key = 128;

/// The most bytes of a Redis key besides prefix, name and key: '/', the period's digits, 'c', ':' or '#'.
constexpr std::size_t max_window_key_overhead = 24;

/// Writes the Redis key of a window, `PREFIX NAME '/' SECONDS ['c'] (':' | '#') KEY`, at `out` and returns
/// the new end. `out` has room for prefix, name, key and max_window_key_overhead bytes. `digested` says that
/// `key` is a digest in hex.
char* write_window_key(char* out, std::string_view prefix, std::string_view name, std::int64_t period,
                       WindowKind kind, std::string_view key, bool digested) noexcept;

}  // namespace rate_limit
