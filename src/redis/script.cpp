#include "redis/script.h"

#include <openssl/evp.h>

namespace rate_limit {
namespace {

struct Source {
    ScriptName name;
    const char* file;
    std::string_view text;
};

// clang-format off
constexpr std::array<Source, script_count> sources = {{
    {ScriptName::charge, "charge.lua",
#include "charge.lua.inc"
    },
    {ScriptName::repair, "repair.lua",
#include "repair.lua.inc"
    },
    {ScriptName::reserve, "reserve.lua",
#include "reserve.lua.inc"
    },
    {ScriptName::refund, "refund.lua",
#include "refund.lua.inc"
    },
}};
// clang-format on

constexpr bool are_in_order() noexcept {
    for (std::size_t i = 0; i < script_count; ++i) {
        if (sources[i].name != static_cast<ScriptName>(i) || sources[i].text.empty()) {
            return false;
        }
    }
    return true;
}
static_assert(are_in_order(), "one line for each ScriptName, in the same order");

/// Should the library fail, the digest is one that no server knows: NOSCRIPT then brings the text.
Script make_script(const Source& source) noexcept {
    constexpr char hex[] = "0123456789abcdef";
    std::array<unsigned char, EVP_MAX_MD_SIZE> raw{};
    EVP_Digest(source.text.data(), source.text.size(), raw.data(), nullptr, EVP_sha1(), nullptr);

    Script script{source.file, source.text, {}};
    for (std::size_t i = 0; i < script.sha1.size(); ++i) {
        script.sha1[i] = hex[i % 2 == 0 ? raw[i / 2] >> 4 : raw[i / 2] & 15];
    }
    return script;
}

std::array<Script, script_count> make_scripts() noexcept {
    std::array<Script, script_count> scripts;
    for (std::size_t i = 0; i < script_count; ++i) {
        scripts[i] = make_script(sources[i]);
    }
    return scripts;
}

}  // namespace

const std::array<Script, script_count>& all_scripts() noexcept {
    static const std::array<Script, script_count> scripts = make_scripts();
    return scripts;
}

}  // namespace rate_limit
