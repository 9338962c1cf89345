#include "limiter/kinds/kind.h"

#include "limiter/zone.h"

namespace rate_limit {

// Each kind that `window=` names is a `const NamedKind NAME_windows` of this room, and a line here. The first
// one is the default.
// clang-format off
#define RATE_LIMIT_WINDOWS(line) \
    line(first) \
    line(clock)
// clang-format on

#define RATE_LIMIT_DECLARE_KIND(name) extern const NamedKind name##_windows;
#define RATE_LIMIT_ADDRESS_OF_KIND(name) &name##_windows,

RATE_LIMIT_WINDOWS(RATE_LIMIT_DECLARE_KIND)

const NamedKind* const named_windows[] = {RATE_LIMIT_WINDOWS(RATE_LIMIT_ADDRESS_OF_KIND) nullptr};

void show(AppliedLimit& applied, const Window& window) noexcept {
    applied.verdict.window = {window.used + applied.kept, window.reset};
    applied.verdict.known = true;
    applied.verdict.in_flight = 0;
}

bool may_be_used_up(const AppliedLimit& applied) noexcept {
    return applied.zone->used_up().may_contain(applied.id);
}

void note_used_up(AppliedLimit& applied, Millis now) noexcept {
    applied.zone->used_up().note(applied.id, now);
}

}  // namespace rate_limit
