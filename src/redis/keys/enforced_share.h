#pragma once

#include <cstdint>
#include <string_view>

#include "redis/keys/shard_choice.h"

namespace rate_limit {

/// Whether a limit that is enforced for so many of 100 keys is enforced for this one, as all machines agree:
/// the remainder of xxh64(key, seed = 0) by 100 is less than `percent`. `key` is as it reaches Redis. A key
/// that is in at one percentage is in at all greater ones.
inline bool is_enforced(std::string_view key, unsigned percent) noexcept {
    return xxh64(key, 0) % 100 < percent;
}

}  // namespace rate_limit
