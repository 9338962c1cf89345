#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
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

/// A SHA-256 digest in lower-case hex.
using DigestHex = std::array<char, 64>;

/// Whether and how a client's key is digested before it is sent to Redis (`key_digest`). Made when the
/// configuration is read, and constant after that.
class KeyDigest {
public:
    enum class Kind : unsigned char { off, sha256, hmac };

    KeyDigest() = default;

    /// `secret`: the HMAC's key, not empty; only for Kind::hmac.
    explicit KeyDigest(Kind kind, std::string_view secret = {});

    /// Whether a key of this length is digested: always unless the kind is off, else if it is longer than
    /// max_plain_key.
    bool applies(std::size_t key_length) const noexcept;

    /// The SHA-256 of `key` or, with Kind::hmac, its HMAC-SHA-256 under the secret. False only if OpenSSL
    /// fails.
    bool digest(std::string_view key, DigestHex& hex) const noexcept;

private:
    Kind kind_ = Kind::off;
    std::string secret_;
};

}  // namespace rate_limit
