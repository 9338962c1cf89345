#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace rate_limit {

/// The scripts of lua/, in the order of their table in script.cpp. A primary gets all of them when it is
/// connected.
enum class ScriptName : unsigned char { charge, repair, reserve, refund };
constexpr std::size_t script_count = static_cast<std::size_t>(ScriptName::refund) + 1;

/// A Lua script that is part of the module, embedded at build time.
struct Script {
    const char* file = "";  ///< without its folder: how log lines name it
    std::string_view text;
    std::array<char, 40> sha1{};  ///< lower-case hex: how EVALSHA calls it

    std::string_view digest() const noexcept { return {sha1.data(), sha1.size()}; }
};

const std::array<Script, script_count>& all_scripts() noexcept;

inline const Script& script(ScriptName name) noexcept {
    return all_scripts()[static_cast<std::size_t>(name)];
}

}  // namespace rate_limit
