#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "limiter/configuration.h"
#include "limiter/tallies/tallies.h"

namespace rate_limit {

/// A key that an operator names by its id.
struct KnownId {
    const Tally* limit;  ///< the limit under which the key has this id
    std::string key;     ///< its text; empty: this machine does not keep it
};

/// The id that such 16 hex digits are; 0: they are none.
std::uint64_t parse_id(std::string_view text) noexcept;

/// Finds what this machine knows of an id: from overrides, from the keys that are rejected most often, or
/// from what was looked up. Nothing: it does not know the id, or its limit is not configured. Throws
/// std::bad_alloc.
std::optional<KnownId> find_id(const Configuration& main, std::uint64_t id);

}  // namespace rate_limit
