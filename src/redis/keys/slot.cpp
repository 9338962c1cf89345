#include "redis/keys/slot.h"

#include <array>

namespace rate_limit {
namespace {

/// The effect of each value of a byte on a checksum: CRC-16 with the polynomial x^16 + x^12 + x^5 + 1, which
/// is called XMODEM's.
constexpr auto remainders = [] {
    std::array<std::uint16_t, 256> table{};
    for (unsigned byte = 0; byte < table.size(); ++byte) {
        unsigned remainder = byte << 8U;
        for (int bit = 0; bit < 8; ++bit) {
            remainder = remainder << 1U ^ ((remainder & 0x8000U) != 0 ? 0x1021U : 0U);
        }
        table[byte] = static_cast<std::uint16_t>(remainder);
    }
    return table;
}();

/// The part of a key that is hashed.
std::string_view hashed(std::string_view key) noexcept {
    const std::size_t open = key.find('{');
    if (open == std::string_view::npos) {
        return key;
    }
    const std::size_t close = key.find('}', open + 1);
    const bool tagged = close != std::string_view::npos && close != open + 1;
    return tagged ? key.substr(open + 1, close - open - 1) : key;
}

}  // namespace

std::uint16_t key_slot(std::string_view key) noexcept {
    unsigned checksum = 0;
    for (const char c : hashed(key)) {
        checksum = (checksum << 8U & 0xffffU) ^ remainders[(checksum >> 8U) ^ static_cast<unsigned char>(c)];
    }
    return static_cast<std::uint16_t>(checksum % slot_count);
}

}  // namespace rate_limit
