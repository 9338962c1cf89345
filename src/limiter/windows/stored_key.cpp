#include "limiter/windows/stored_key.h"

namespace rate_limit {

bool StoredKey::take_digest(const StoreConf& store) noexcept {
    if (!store.digest.digest(text_, hex_)) {
        return false;
    }
    text_ = {hex_.data(), hex_.size()};
    digested_ = true;
    return true;
}

}  // namespace rate_limit
