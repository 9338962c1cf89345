#include "redis/keys/digest.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "redis/keys/window_key.h"

namespace rate_limit {
namespace {

constexpr std::size_t raw_length = 32;
using Raw = std::array<unsigned char, EVP_MAX_MD_SIZE>;

bool sha256(std::string_view key, Raw& raw) noexcept {
    return EVP_Digest(key.data(), key.size(), raw.data(), nullptr, EVP_sha256(), nullptr) == 1;
}

bool hmac_sha256(std::string_view secret, std::string_view key, Raw& raw) noexcept {
    return HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
                reinterpret_cast<const unsigned char*>(key.data()), key.size(), raw.data(),
                nullptr) != nullptr;
}

}  // namespace

KeyDigest::KeyDigest(Kind kind, std::string_view secret) : kind_(kind), secret_(secret) {}

bool KeyDigest::applies(std::size_t key_length) const noexcept {
    return kind_ != Kind::off || key_length > max_plain_key;
}

bool KeyDigest::digest(std::string_view key, DigestHex& hex) const noexcept {
    Raw raw{};
    if (!(kind_ == Kind::hmac ? hmac_sha256(secret_, key, raw) : sha256(key, raw))) {
        return false;
    }
    constexpr char digits[] = "0123456789abcdef";
    for (std::size_t i = 0; i < raw_length; ++i) {
        hex[2 * i] = digits[raw[i] >> 4];
        hex[2 * i + 1] = digits[raw[i] & 15];
    }
    return true;
}

}  // namespace rate_limit
