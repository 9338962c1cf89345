#include "limiter/regions/elsewhere.h"

#include <memory>
#include <new>
#include <optional>

#include "limiter/store/store.h"

namespace rate_limit {

namespace {

constexpr Millis a_second = 1000;

/// So many objects in memory of the request, which texts leave at any address. Null without memory. Nobody
/// destroys them.
template <typename Object>
Object* make_some(RequestMemory& memory, std::size_t count) noexcept {
    std::size_t room = count * sizeof(Object) + alignof(Object);
    void* at = allocate(memory, room);
    if (at == nullptr) {
        return nullptr;
    }
    auto* const first = static_cast<Object*>(std::align(alignof(Object), count * sizeof(Object), at, room));
    for (std::size_t i = 0; i < count; ++i) {
        new (first + i) Object;
    }
    return first;
}

}  // namespace

const char* locate_elsewhere(RequestMemory& memory, const WindowPlace& place, Elsewhere& elsewhere) noexcept {
    const StoreConf& here = place.store->conf();
    elsewhere.count = here.elsewhere.size();
    elsewhere.here = make_some<RegionPart>(memory, 1 + elsewhere.count);
    if (elsewhere.here == nullptr) {
        return "no memory";
    }
    elsewhere.here->store = place.store;
    elsewhere.here->window.id = place.id;
    elsewhere.parts = elsewhere.here + 1;
    for (std::size_t i = 0; i < elsewhere.count; ++i) {
        const StoreConf& region = *here.elsewhere[i];
        RegionPart& part = elsewhere.parts[i];
        part.store = live_store(region);
        if (part.store == nullptr) {
            return "no memory";
        }
        part.window.id = place.id;
        part.window.id.low ^= here.window_digest(place.route) ^ region.window_digest(place.route);
    }
    return nullptr;
}

void recall_elsewhere(Zone& zone, const WindowTime& at, Millis freshness, Elsewhere& elsewhere) noexcept {
    elsewhere.used = 0;
    elsewhere.fresh = freshness != 0;
    elsewhere.known = true;
    for (RegionPart& part : elsewhere) {
        part.window = {&zone, part.window.id, at.rate, at.kind};
        const auto record = part.window.recall(at.now);
        elsewhere.used = add_used(elsewhere.used, record ? record->used : 0);
        elsewhere.fresh = elsewhere.fresh && record && is_fresh(*record, freshness, at.now);
        elsewhere.known = elsewhere.known && record && is_fresh(*record, a_second, at.now);
    }
}

void learn_elsewhere(Millis now, Route route, Elsewhere& elsewhere) noexcept {
    elsewhere.used = 0;
    for (const RegionPart& part : elsewhere) {
        if (part.answered) {
            part.store->watch(route).answered();
            elsewhere.used = add_used(elsewhere.used, part.window.learn(part.told, now));
            continue;
        }
        const auto record = part.window.recall(now);
        elsewhere.used = add_used(elsewhere.used, record ? record->used : 0);
        if (part.failure != nullptr) {
            elsewhere.remembered = true;
            part.store->watch(route).remembered(part.failure);
        }
    }
}

}  // namespace rate_limit
