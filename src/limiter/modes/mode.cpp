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

}  // namespace rate_limit
