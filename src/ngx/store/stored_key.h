#pragma once

#include <string_view>

#include "redis/keys/digest.h"

namespace rate_limit {

struct StoreConf;

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

}  // namespace rate_limit
