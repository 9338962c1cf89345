#pragma once

#include <cstdint>
#include <string_view>

#include "core/topology/topology.h"

namespace rate_limit {

/// The hash slot of a key, 0 to slot_count - 1, as CLUSTER KEYSLOT says it: of the text in the first pair of
/// braces, unless that is empty, else of the whole key.
std::uint16_t key_slot(std::string_view key) noexcept;

}  // namespace rate_limit
