#pragma once

#include <string_view>

#include "core/overrides/known_overrides.h"
#include "ngx/conf/conf.h"
#include "redis/keys/digest.h"

namespace rate_limit {

/// A key as it reaches Redis.
class StoredKey {
public:
    StoredKey() = default;
    StoredKey(const StoredKey&) = delete;
    StoredKey& operator=(const StoredKey&) = delete;

    /// `store` is null for `local`. False if the digest fails. The text is the key's own, or this object's.
    bool take(const StoreConf* store, std::string_view key) noexcept;

    std::string_view text() const noexcept { return text_; }
    bool digested() const noexcept { return digested_; }

private:
    DigestHex hex_;
    std::string_view text_;
    bool digested_ = false;
};

/// What an override says of a request with this key, where there is any: of the key, or else of the limit.
/// The caller has seen that there are some. `store` is the name of the store, or `local`.
KnownOverrides::Effect effect_of(const MainConf& main, const Limit& limit, std::string_view store,
                                 const StoredKey& key) noexcept;

/// Makes what this process, and those that it starts, know of overrides.
ngx_int_t make_overrides(ngx_cycle_t* cycle, MainConf& main) noexcept;

}  // namespace rate_limit
