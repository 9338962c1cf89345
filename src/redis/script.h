#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <string_view>

namespace rate_limit {

// The scripts: each is a file lua/NAME.lua and a line here. A primary gets all of them when it is connected.
// clang-format off
#define RATE_LIMIT_SCRIPTS(line) \
    line(charge) \
    line(repair) \
    line(reserve) \
    line(refund) \
    line(bucket) \
    line(hold) \
    line(overrides) \
    line(penalty)
// clang-format on

#define RATE_LIMIT_ENUMERATOR(name) name,
enum class ScriptName : unsigned char { RATE_LIMIT_SCRIPTS(RATE_LIMIT_ENUMERATOR) };
#undef RATE_LIMIT_ENUMERATOR

#define RATE_LIMIT_QUALIFIED(name) ScriptName::name,
constexpr std::size_t script_count =
    std::initializer_list<ScriptName>{RATE_LIMIT_SCRIPTS(RATE_LIMIT_QUALIFIED)}.size();
#undef RATE_LIMIT_QUALIFIED

/// A Lua script that is part of the module, embedded at build time.
struct Script {
    const char* file = "";  ///< without its folder: how log lines name it
    std::string_view text;
    std::array<char, 40> sha1{};  ///< lower-case hex: how EVALSHA calls it

    std::string_view digest() const noexcept { return {sha1.data(), sha1.size()}; }
};

const std::array<Script, script_count>& all_scripts() noexcept;

/// How many elements the replies of these scripts have, unless they say that another type has given way:
/// replaced_another_type(). Those of repair and refund have as many as those of charge.
constexpr std::size_t words_of_charge = 2;
constexpr std::size_t words_of_raise = 3;  ///< of charge, where the window is to have so much at least
constexpr std::size_t words_of_reserve = 3;
constexpr std::size_t words_of_bucket = 7;
constexpr std::size_t words_of_hold = 3;
constexpr std::size_t words_of_penalty = 2;

inline const Script& script(ScriptName name) noexcept {
    return all_scripts()[static_cast<std::size_t>(name)];
}

}  // namespace rate_limit
