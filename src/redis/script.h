#pragma once

#include <array>
#include <string_view>

namespace rate_limit {

/// A Lua script that is part of the module, embedded at build time from lua/.
struct Script {
    std::string_view text;
    std::array<char, 40> sha1;  ///< lower-case hex: how EVALSHA calls it

    std::string_view digest() const noexcept { return {sha1.data(), sha1.size()}; }
};

const Script& charge_script() noexcept;
const Script& repair_script() noexcept;
const Script& reserve_script() noexcept;
const Script& refund_script() noexcept;

}  // namespace rate_limit
