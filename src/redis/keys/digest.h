#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace rate_limit {

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
