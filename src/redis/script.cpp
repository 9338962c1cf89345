#include "redis/script.h"

#include <openssl/evp.h>

namespace rate_limit {
namespace {

struct Source {
    std::string_view file;
    std::string_view text;
};

/// The files of lua/.
constexpr Source sources[] = {
#include "scripts.inc"
};

#define RATE_LIMIT_FILE(name) #name ".lua",
constexpr std::array<const char*, script_count> files = {RATE_LIMIT_SCRIPTS(RATE_LIMIT_FILE)};
#undef RATE_LIMIT_FILE

constexpr std::string_view text_of(std::string_view file) noexcept {
    for (const Source& source : sources) {
        if (source.file == file) {
            return source.text;
        }
    }
    return {};
}

constexpr bool have_texts() noexcept {
    for (const char* file : files) {
        if (text_of(file).empty()) {
            return false;
        }
    }
    return true;
}
static_assert(std::size(sources) == script_count && have_texts(),
              "each script has its file in lua/, and each file its line");

/// Should the library fail, the digest is one that no server knows: NOSCRIPT then brings the text.
Script make_script(const char* file) noexcept {
    const std::string_view text = text_of(file);
    constexpr char hex[] = "0123456789abcdef";
    std::array<unsigned char, EVP_MAX_MD_SIZE> raw{};
    EVP_Digest(text.data(), text.size(), raw.data(), nullptr, EVP_sha1(), nullptr);

    Script script{file, text, {}};
    for (std::size_t i = 0; i < script.sha1.size(); ++i) {
        script.sha1[i] = hex[i % 2 == 0 ? raw[i / 2] >> 4 : raw[i / 2] & 15];
    }
    return script;
}

std::array<Script, script_count> make_scripts() noexcept {
    std::array<Script, script_count> scripts;
    for (std::size_t i = 0; i < script_count; ++i) {
        scripts[i] = make_script(files[i]);
    }
    return scripts;
}

}  // namespace

const std::array<Script, script_count>& all_scripts() noexcept {
    static const std::array<Script, script_count> scripts = make_scripts();
    return scripts;
}

}  // namespace rate_limit
