#include "limiter/regions/elsewhere.h"

#include <memory>
#include <new>
#include <optional>

#include "core/machine/window_account.h"
#include "limiter/store/store.h"
#include "limiter/zone.h"

namespace rate_limit {

namespace {

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

Terms terms_at(const WindowTime& at) noexcept {
    return {at.rate, Truth::redis, propose_reset(at.kind, at.rate.period, at.now), at.now};
}

/// What is remembered of the window there, if it is open.
std::optional<WindowRecord> open_record(Zone& zone, const WindowTime& at, const RegionPart& part) noexcept {
    auto record = zone.windows().find<WindowRecord>(part.id);
    if (record && !is_open(*record, at.rate.period, at.now)) {
        record.reset();
    }
    return record;
}

/// What is used in the window of the part once its answer is remembered; or without room for that.
std::int64_t take_in(Zone& zone, const WindowTime& at, bool anew, const RegionPart& part) noexcept {
    const Window& answer = part.read.window();
    std::int64_t used = is_open(answer, at.rate.period, at.now) ? answer.used : 0;
    (void)zone.windows().update(part.id, at.now, [&](WindowRecord& record) {
        learn_elsewhere(record, terms_at(at), answer, anew);
        used = record.used;
    });
    return used;
}

}  // namespace

const char* locate_elsewhere(RequestMemory& memory, const WindowPlace& place, Elsewhere& elsewhere) noexcept {
    const StoreConf& here = place.store->conf();
    elsewhere.count = here.elsewhere.size();
    elsewhere.here = make_some<Read>(memory, 1);
    elsewhere.parts = make_some<RegionPart>(memory, elsewhere.count);
    if (elsewhere.here == nullptr || elsewhere.parts == nullptr) {
        return "no memory";
    }
    for (std::size_t i = 0; i < elsewhere.count; ++i) {
        const StoreConf& region = *here.elsewhere[i];
        RegionPart& part = elsewhere.parts[i];
        part.store = live_store(region);
        if (part.store == nullptr) {
            return "no memory";
        }
        part.id = place.id;
        part.id.low ^= here.routes.digest_of(place.route) ^ region.routes.digest_of(place.route);
    }
    return nullptr;
}

void recall_elsewhere(Zone& zone, const WindowTime& at, Millis freshness, Elsewhere& elsewhere) noexcept {
    elsewhere.used = 0;
    elsewhere.fresh = freshness != 0;
    for (const RegionPart& part : elsewhere) {
        const auto record = open_record(zone, at, part);
        elsewhere.used = add_used(elsewhere.used, record ? record->used : 0);
        elsewhere.fresh = elsewhere.fresh && record && is_fresh(*record, freshness, at.now);
    }
}

void learn_elsewhere(Zone& zone, const WindowTime& at, Route route, bool anew,
                     Elsewhere& elsewhere) noexcept {
    elsewhere.used = 0;
    for (const RegionPart& part : elsewhere) {
        if (part.answered) {
            part.store->watch(route).answered();
            elsewhere.used = add_used(elsewhere.used, take_in(zone, at, anew, part));
            continue;
        }
        const auto record = open_record(zone, at, part);
        elsewhere.used = add_used(elsewhere.used, record ? record->used : 0);
        if (part.failure != nullptr) {
            elsewhere.remembered = true;
            part.store->watch(route).remembered(part.failure);
        }
    }
}

}  // namespace rate_limit
