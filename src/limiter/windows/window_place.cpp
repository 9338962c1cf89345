#include "limiter/windows/window_place.h"

#include "core/decimal.h"
#include "limiter/store/store.h"
#include "limiter/store_conf.h"
#include "limiter/windows/stored_key.h"
#include "limiter/zone.h"
#include "redis/keys/window_key.h"

namespace rate_limit {

const char* locate(RequestMemory& memory, const Zone& zone, StoreConf* store, const WindowIdentity& window,
                   WindowPlace& place) noexcept {
    StoredKey stored;
    if (!stored.take(store, window.key)) {
        return "the key's digest failed";
    }
    const std::string_view key = stored.text();
    const std::string_view name = name_of(store);
    const std::size_t head = window.head.empty() ? head_room(store, window.limit) : window.head.size();
    char* text = allocate(memory, head + 1 + key.size());
    if (text == nullptr) {
        return "no memory";
    }
    char* end = window.head.empty() ? write_head(text, store, window.limit, window.period, window.kind)
                                    : append(text, window.head);
    end = write_window_tail(end, key, stored.digested());
    const char* begin = text + name.size() + 1;
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
        // Configurations may disagree about its shard, and its region: each has a window of its own.
        place.id.low ^= store->routes.has_slots() ? 0 : store->window_digest(place.route);
    }
    return nullptr;
}

}  // namespace rate_limit
