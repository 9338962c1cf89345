#pragma once

#include <string_view>

#include "core/overrides/known_overrides.h"
#include "limiter/configuration.h"
#include "limiter/windows/stored_key.h"

namespace rate_limit {

/// The effect of an override on a request with this key, if there is any: the key's, or else the limit's. The
/// caller has seen that there are some. `store` is the name of the store, or `local`.
KnownOverrides::Effect effect_of(const Configuration& main, const Limit& limit, std::string_view store,
                                 const StoredKey& key) noexcept;

/// Makes what this process, and those that it starts, know of overrides; the configuration's owner deletes
/// it. False without memory.
bool make_overrides(Configuration& main) noexcept;

}  // namespace rate_limit
