#include "ngx/store/stored_key.h"

#include "ngx/conf/redis_conf.h"

namespace rate_limit {

bool StoredKey::take(const StoreConf* store, std::string_view key) noexcept {
    text_ = key;
    digested_ = store != nullptr && store->digest.applies(key.size());
    if (digested_ && !store->digest.digest(key, hex_)) {
        return false;
    }
    text_ = digested_ ? std::string_view(hex_.data(), hex_.size()) : key;
    return true;
}

}  // namespace rate_limit
