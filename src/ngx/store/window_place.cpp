#include "ngx/store/window_place.h"

#include "core/append.h"
#include "ngx/base/zone.h"
#include "ngx/store/store.h"
#include "ngx/store/stored_key.h"
#include "redis/keys/window_key.h"

namespace rate_limit {

const char* locate(ngx_pool_t* pool, const Zone& zone, StoreConf* store, const WindowIdentity& window,
                   WindowPlace& place) noexcept {
    StoredKey stored;
    if (!stored.take(store, window.key)) {
        return "the key's digest failed";
    }
    const std::string_view key = stored.text();
    const std::string_view name = store != nullptr ? std::string_view(store->name) : "local";
    const std::string_view prefix = store != nullptr ? std::string_view(store->prefix) : "";
    const std::size_t room =
        name.size() + 1 + prefix.size() + window.limit.size() + key.size() + max_window_key_overhead;
    auto* text = static_cast<char*>(ngx_pnalloc(pool, room));
    if (text == nullptr) {
        return "no memory";
    }
    char* begin = append(append(text, name), std::string_view("\0", 1));
    const char* end =
        write_window_key(begin, prefix, window.limit, window.period, window.kind, key, stored.digested());
    place.key = {begin, static_cast<std::size_t>(end - begin)};
    place.stored_key = place.key.substr(place.key.size() - key.size());
    place.id = zone.windows().id_of({text, static_cast<std::size_t>(end - text)});
    if (store != nullptr) {
        Store* live = live_store(*store);
        if (live == nullptr) {
            return "no memory";
        }
        place.store = live;
        place.route = live->route_of(key, place.key);
    }
    return nullptr;
}

}  // namespace rate_limit
