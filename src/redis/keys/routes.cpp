#include "redis/keys/routes.h"

#include <algorithm>
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

Routes::Routes(std::string_view store) noexcept
    : store_(xxh64(store, 0)), base_(xxh64("slots", store_) & ~slot_bits) {}

void Routes::add_shard(std::string_view name, std::uint32_t weight) {
    digests_.push_back(xxh64(name, store_));
    choice_.add(name, weight);
}

std::size_t Routes::size() const noexcept {
    return slotted_ ? slot_count : digests_.size();
}

Route Routes::choose(std::string_view key, std::string_view window_key) const noexcept {
    return slotted_ ? Route{key_slot(window_key)} : static_cast<Route>(choice_.choose(key));
}

bool Routes::find(std::uint64_t digest, Route& route) const noexcept {
    if (slotted_) {
        route = static_cast<Route>(digest & slot_bits);
        return (digest & ~slot_bits) == base_;
    }
    const auto found = std::find(digests_.begin(), digests_.end(), digest);
    route = static_cast<Route>(found - digests_.begin());
    return found != digests_.end();
}

}  // namespace rate_limit
