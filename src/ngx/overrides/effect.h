#pragma once

#include <string_view>

#include "core/overrides/known_overrides.h"
#include "ngx/conf/conf.h"
#include "ngx/windows/stored_key.h"

namespace rate_limit {

/// What an override says of a request with this key, where there is any: of the key, or else of the limit.
/// The caller has seen that there are some. `store` is the name of the store, or `local`.
KnownOverrides::Effect effect_of(const MainConf& main, const Limit& limit, std::string_view store,
                                 const StoredKey& key) noexcept;

/// Makes what this process, and those that it starts, know of overrides.
ngx_int_t make_overrides(ngx_cycle_t* cycle, MainConf& main) noexcept;

}  // namespace rate_limit
