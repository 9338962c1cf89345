#include "redis/script.h"

#include <openssl/evp.h>

namespace rate_limit {
namespace {

constexpr std::string_view charge_text =
#include "charge.lua.inc"
    ;

constexpr std::string_view repair_text =
#include "repair.lua.inc"
    ;

constexpr std::string_view reserve_text =
#include "reserve.lua.inc"
    ;

constexpr std::string_view refund_text =
#include "refund.lua.inc"
    ;

/// Should the library fail, the digest is one that no server knows: NOSCRIPT then brings the text.
Script make_script(std::string_view text) noexcept {
    constexpr char hex[] = "0123456789abcdef";
    std::array<unsigned char, EVP_MAX_MD_SIZE> raw{};
    EVP_Digest(text.data(), text.size(), raw.data(), nullptr, EVP_sha1(), nullptr);

    Script script{text, {}};
    for (std::size_t i = 0; i < script.sha1.size(); ++i) {
        script.sha1[i] = hex[i % 2 == 0 ? raw[i / 2] >> 4 : raw[i / 2] & 15];
    }
    return script;
}

}  // namespace

const Script& charge_script() noexcept {
    static const Script script = make_script(charge_text);
    return script;
}

const Script& repair_script() noexcept {
    static const Script script = make_script(repair_text);
    return script;
}

const Script& reserve_script() noexcept {
    static const Script script = make_script(reserve_text);
    return script;
}

const Script& refund_script() noexcept {
    static const Script script = make_script(refund_text);
    return script;
}

}  // namespace rate_limit
