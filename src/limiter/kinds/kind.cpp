#include "limiter/kinds/kind.h"

#include <algorithm>

#include "limiter/kinds/batches.h"
#include "limiter/zone.h"

namespace rate_limit {

const BatchKind& batches_of(const Demand& demand) noexcept {
    return demand.of_bucket() ? bucket_batches : window_batches;
}

void show(AppliedLimit& applied, const Window& window) noexcept {
    applied.verdict.window = {window.used + applied.kept + applied.used_elsewhere(), window.reset};
    applied.verdict.known = true;
    applied.verdict.in_flight = 0;
}

PendingSpan span_of(const AppliedLimit& applied, Millis now) noexcept {
    if (!applied.bucket) {
        const Millis reset = applied.verdict.window.reset;
        return {static_cast<std::uint32_t>(reset), reset};
    }
    const Millis fill = millis_of(applied.bucket->fill());
    return {static_cast<std::uint32_t>(now / std::max<Millis>(fill, 1)), now + fill};
}

bool may_be_used_up(const AppliedLimit& applied) noexcept {
    return applied.zone->used_up().may_contain(applied.id);
}

void note_used_up(AppliedLimit& applied, Millis now) noexcept {
    applied.zone->used_up().note(applied.id, now);
}

}  // namespace rate_limit
