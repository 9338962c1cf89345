#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/decimal.h"
#include "core/limit/window.h"

namespace rate_limit {

/// Keys longer than this, in bytes, are always digested before they are sent to Redis.
constexpr std::size_t max_plain_key = 128;

/// The most bytes of a Redis key besides prefix, name and key: '/', the period's digits, 'c', ':' or '#'.
constexpr std::size_t max_window_key_overhead = 24;

/// Writes what the Redis keys of all windows of a limit begin with, `PREFIX NAME '/' (SECONDS ['c' | 'b'] |
/// 'monthc' | 'n')`, at `out` and returns the new end. `out` has room for prefix, name and
/// max_window_key_overhead bytes.
char* write_window_head(char* out, std::string_view prefix, std::string_view name, std::int64_t period,
                        WindowKind kind) noexcept;

/// Writes what comes behind it, `(':' | '#') KEY`. `digested` says that `key` is a digest in hex.
inline char* write_window_tail(char* out, std::string_view key, bool digested) noexcept {
    *out++ = digested ? '#' : ':';
    return append(out, key);
}

struct WindowKeyParts {
    std::string_view name;  ///< the limit's
    std::string_view key;   ///< or its digest in hex
};

/// `prefix`: how many bytes the prefix has. Both parts are empty where it is no window's key.
WindowKeyParts parts_of_window_key(std::string_view window_key, std::size_t prefix) noexcept;

}  // namespace rate_limit
