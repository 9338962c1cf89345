#include "limiter/window_head.h"

#include "core/decimal.h"
#include "limiter/store_conf.h"
#include "redis/keys/window_key.h"

namespace rate_limit {

namespace {

std::string_view prefix_of(const StoreConf* store) noexcept {
    return store != nullptr ? std::string_view(store->prefix) : std::string_view();
}

}  // namespace

std::size_t head_room(const StoreConf* store, std::string_view limit) noexcept {
    return name_of(store).size() + 1 + prefix_of(store).size() + limit.size() + max_window_key_overhead;
}

char* write_head(char* out, const StoreConf* store, std::string_view limit, std::int64_t period,
                 WindowKind kind) noexcept {
    out = append(append(out, name_of(store)), std::string_view("\0", 1));
    return write_window_head(out, prefix_of(store), limit, period, kind);
}

}  // namespace rate_limit
