#pragma once

#include <cstdint>
#include <string_view>

namespace rate_limit {

/// How many hash slots a cluster has.
constexpr std::uint16_t slot_count = 16384;

/// The hash slot of a key, 0 to slot_count - 1, as CLUSTER KEYSLOT says it: of the text in the first pair of
/// braces, unless that is empty, else of the whole key.
std::uint16_t key_slot(std::string_view key) noexcept;

}  // namespace rate_limit
