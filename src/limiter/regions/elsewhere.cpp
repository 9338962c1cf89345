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

Elsewhere* locate_elsewhere(RequestMemory& memory, Zone& zone, const WindowPlace& place, const Rate& rate,
                            WindowKind kind) noexcept {
    const StoreConf& here = place.store->conf();
    auto* const elsewhere = make_some<Elsewhere>(memory, 1);
    auto* const parts = make_some<RegionPart>(memory, 1 + here.elsewhere.size());
    if (elsewhere == nullptr || parts == nullptr) {
        return nullptr;
    }
    *elsewhere = {parts, here.elsewhere.size()};
    parts->store = place.store;
    parts->window = {&zone, place.id, rate, kind};
    RegionPart* part = elsewhere->begin();
    for (const StoreConf* region : here.elsewhere) {
        part->store = live_store(*region);
        if (part->store == nullptr) {
            return nullptr;
        }
        // The id is that of the region here until the digest of this one is taken out of it.
        WindowId id = place.id;
        id.low ^= here.window_digest(place.route) ^ region->window_digest(place.route);
        part++->window = {&zone, id, rate, kind};
    }
    return elsewhere;
}

void recall_elsewhere(Elsewhere& elsewhere, Millis freshness, Millis now) noexcept {
    elsewhere.used = 0;
    elsewhere.fresh = freshness != 0;
    elsewhere.known = true;
    for (const RegionPart& part : elsewhere) {
        const auto record = part.window.recall(now);
        elsewhere.used = add_used(elsewhere.used, record ? record->used : 0);
        elsewhere.fresh = elsewhere.fresh && record && is_fresh(*record, freshness, now);
        elsewhere.known = elsewhere.known && record && is_fresh(*record, a_second, now);
    }
}

void learn_elsewhere(Elsewhere& elsewhere, Route route, Millis now) noexcept {
    const Window here = elsewhere.here->asked->window();
    elsewhere.used = 0;
    for (RegionPart& part : elsewhere) {
        if (const Window* told = part.told()) {
            part.store->watch(route).answered();
            elsewhere.used = add_used(elsewhere.used, part.window.learn(*told, here, now));
            continue;
        }
        elsewhere.used = add_used(elsewhere.used, part.window.seen(nullptr, now).used);
        if (part.failure != nullptr) {
            elsewhere.remembered = true;
            part.store->watch(route).remembered(part.failure);
        }
    }
}

void add_elsewhere(Elsewhere& elsewhere, Millis now) noexcept {
    elsewhere.used = 0;
    for (RegionPart& part : elsewhere) {
        elsewhere.used = add_used(elsewhere.used, part.window.seen(part.told(), now).used);
    }
}

}  // namespace rate_limit
