#include "redis/keys/window_key.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

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

/// The word that keys have for a period of a calendar.
std::string_view period_word(WindowKind kind) noexcept {
    switch (kind) {
        case WindowKind::local_day:
            return "day";
        case WindowKind::week:
        case WindowKind::local_week:
            return "week";
        case WindowKind::month:
        case WindowKind::local_month:
            return "month";
        case WindowKind::first:
        case WindowKind::clock:
        case WindowKind::bucket:
        case WindowKind::slots:
            break;
    }
    return {};
}

}  // namespace

char* write_window_head(char* out, std::string_view prefix, std::string_view name, std::int64_t period,
                        WindowKind kind) noexcept {
    out = append(append(out, prefix), name);
    *out++ = '/';
    if (const std::string_view word = period_word(kind); !word.empty()) {
        out = append(out, word);
    } else if (kind != WindowKind::slots) {
        out = append(out, period);
    }
    return append(out, suffix_of(kind));
}

/// Neither the name of a limit nor what follows it has a '/', ':' or '#'.
WindowKeyParts parts_of_window_key(std::string_view window_key, std::size_t prefix) noexcept {
    const std::size_t slash = window_key.find('/', prefix);
    const std::size_t mark = window_key.find_first_of(":#", slash);
    if (slash == std::string_view::npos || mark == std::string_view::npos) {
        return {};
    }
    return {window_key.substr(prefix, slash - prefix), window_key.substr(mark + 1)};
}

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
