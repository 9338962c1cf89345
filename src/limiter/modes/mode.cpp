#include "limiter/modes/mode.h"

namespace rate_limit {

// Each mode is a file that defines `const NamedMode NAME_mode`, and a line here. The first one is the
// default.
// clang-format off
#define RATE_LIMIT_MODES(line) \
    line(check_charge) \
    line(charge_refund) \
    line(lease)
// clang-format on

#define RATE_LIMIT_DECLARE(name) extern const NamedMode name##_mode;
#define RATE_LIMIT_ADDRESS(name) &name##_mode,

RATE_LIMIT_MODES(RATE_LIMIT_DECLARE)

const NamedMode* const named_modes[] = {RATE_LIMIT_MODES(RATE_LIMIT_ADDRESS) nullptr};

Admission without_answer(AppliedLimit& applied, Millis now) noexcept {
    if (applied.recalled == Recalled::nothing) {
        applied.recalled = applied.mode->recall(applied, now);
        if (applied.recalled == Recalled::admitted) {
            return Admission::admitted;
        }
        if (applied.recalled != Recalled::nothing) {
            note_used_up(applied, now);  // the next request need not ask
        }
    }
    if (applied.recalled == Recalled::used_up ||
        (applied.recalled == Recalled::to_confirm && !applied.doubtful)) {
        return Admission::refused;
    }
    applied.verdict.known = false;
    applied.failure = applied.answer()->failure();
    return Admission::unchecked;
}

const char* why_not_over_regions(const Limit& limit) noexcept {
    if (!limit.kind->is_spent) {
        return "counts requests that run, which regions cannot count together: write \"store=\" with a store "
               "without regions, or \"store=local\"";
    }
    if (limit.burst != 0 || limit.variable_burst) {
        return "has \"burst=\", and regions count windows of the clock only: remove \"burst=\" and write "
               "\"window=clock\", or write \"store=\" with a store without regions";
    }
    if (limit.mode->with_regions == nullptr) {
        return "is charged before the request, and regions are charged after it: write "
               "\"mode=check_charge\", or \"store=\" with a store without regions";
    }
    if (!is_by_clock(limit.kind->window_kind)) {
        return "has windows that open with the first request, at another time in each region: write "
               "\"window=clock\", or \"store=\" with a store without regions";
    }
    if (limit.penalty != 0) {
        return "has \"penalty=\", which each region would begin by itself: remove it, or write \"store=\" "
               "with a store without regions";
    }
    return nullptr;
}

}  // namespace rate_limit
