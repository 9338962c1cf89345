#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace rate_limit {

/// A SHA-256 digest in lower-case hex.
using DigestHex = std::array<char, 64>;

/// What of a client's key reaches Redis (`key_digest`). Built when the configuration is read, then immutable.
class KeyDigest {
public:
    enum class Kind : unsigned char { off, sha256, hmac };

    KeyDigest() = default;

    /// `secret`: the HMAC's key, not empty; only for Kind::hmac.
    explicit KeyDigest(Kind kind, std::string_view secret = {});

    /// True when a key of this length is digested: always, or because it is longer than max_plain_key.
    bool applies(std::size_t key_length) const noexcept;

    /// SHA-256 of `key`, or HMAC-SHA-256 of it under the secret. False only if the library fails.
    bool digest(std::string_view key, DigestHex& hex) const noexcept;

private:
    Kind kind_ = Kind::off;
    std::string secret_;
};

}  // namespace rate_limit
