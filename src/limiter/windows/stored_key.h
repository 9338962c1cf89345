#pragma once

#include <string_view>

#include "limiter/store_conf.h"
#include "redis/keys/window_key.h"

namespace rate_limit {

/// A key as it reaches Redis.
class StoredKey {
public:
    StoredKey() = default;
    StoredKey(const StoredKey&) = delete;
    StoredKey& operator=(const StoredKey&) = delete;

    /// `store` is null for `local`. False if the digest fails. The text is the key's own, or this object's.
    bool take(const StoreConf* store, std::string_view key) noexcept {
        text_ = key;
        return store == nullptr || !store->digest.applies(key.size()) || take_digest(*store);
    }

    std::string_view text() const noexcept { return text_; }
    bool digested() const noexcept { return digested_; }

private:
    bool take_digest(const StoreConf& store) noexcept;

    DigestHex hex_;
    std::string_view text_;
    bool digested_ = false;
};

}  // namespace rate_limit
