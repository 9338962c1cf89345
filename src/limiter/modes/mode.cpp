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

}  // namespace rate_limit
