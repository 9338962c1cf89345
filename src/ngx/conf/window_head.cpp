#include "ngx/conf/window_head.h"

#include "core/append.h"
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

ngx_int_t keep_head(ngx_conf_t* cf, Limit& limit) noexcept {
    const bool constant = limit.has_constant_rate() && limit.has_constant_burst();
    if (!constant || (!limit.local && limit.store == nullptr)) {
        return NGX_OK;
    }
    auto* text = static_cast<char*>(ngx_pnalloc(cf->pool, head_room(limit.store, view(limit.name))));
    if (text == nullptr) {
        return NGX_ERROR;
    }
    const char* end = write_head(text, limit.store, view(limit.name), limit.rate.period,
                                 limit.kind_at(limit.rate, limit.burst != 0));
    limit.head = {text, static_cast<std::size_t>(end - text)};
    return NGX_OK;
}

}  // namespace rate_limit
