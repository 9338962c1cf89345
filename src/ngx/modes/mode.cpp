#include "ngx/modes/mode.h"

namespace rate_limit {

// Each mode is a file that defines `const NamedMode NAME_mode`; the first one is the default.
#define RATE_LIMIT_MODES(line) line(check_charge) line(charge_refund) line(lease)

#define RATE_LIMIT_DECLARE(name) extern const NamedMode name##_mode;
#define RATE_LIMIT_ADDRESS(name) &name##_mode,

RATE_LIMIT_MODES(RATE_LIMIT_DECLARE)

const NamedMode* const named_modes[] = {RATE_LIMIT_MODES(RATE_LIMIT_ADDRESS) nullptr};

bool Uncounted::recalls_first(const AppliedLimit& /*applied*/, bool /*alone*/) const noexcept {
    return false;
}

Recalled Uncounted::recall(AppliedLimit& /*applied*/, Millis /*now*/) const noexcept {
    return Recalled::nothing;
}

void Uncounted::ask(AppliedLimit& /*applied*/, Answer::Owner& /*owner*/) const noexcept {}

Admission Uncounted::admit(AppliedLimit& /*applied*/, Millis /*now*/) const noexcept {
    return Admission::unchecked;
}

void Uncounted::settle(AppliedLimit& /*applied*/, std::int64_t /*due*/, Millis /*now*/) const noexcept {}

const Uncounted uncounted;

}  // namespace rate_limit
