#include "limiter/upkeep/slots_correction.h"

#include "limiter/concurrency/holds.h"
#include "limiter/zone.h"

namespace rate_limit {

bool SlotsCorrection::turn(Zone& zone) noexcept {
    auto slots = zone.slots();
    if (slots && zone.take_correction()) {
        under_way_ = true;
        next_ = 0;
        tries_ = 0;
    }
    if (!under_way_ || !slots) {
        return false;
    }
    const SlotsTerms terms{0, Truth::redis, Holds::ttl, 0, now_millis()};
    const std::size_t sets = zone.windows().sets();
    for (std::size_t i = 0; i < sets_a_turn && next_ < sets; ++i) {
        if (!slots->sweep(next_, terms) && ++tries_ < most_tries) {
            return true;
        }
        tries_ = 0;
        ++next_;
    }
    under_way_ = next_ < sets;
    return under_way_;
}

}  // namespace rate_limit
