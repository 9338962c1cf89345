#include "bench/simulate/server/scripts.h"

namespace rate_limit::simulated {
namespace {

/// The reset of the window that is open; 0: none is.
Millis open_until(const Hash* fields, const Opening& opening) noexcept {
    const std::int64_t* reset = fields != nullptr ? fields->reset.number() : nullptr;
    return reset != nullptr && *reset > 0 && *reset > opening.now && *reset <= opening.latest ? *reset : 0;
}

constexpr double largest = 1e15;

/// False where the count is none to go on from.
bool count_on(Call& call, std::int64_t cost, double& used) {
    try {
        used = static_cast<double>(call.hincrby_used(cost));
    } catch (const Raised& raised) {
        if (raised.fault != Fault::other) {
            throw;
        }
        return false;
    }
    return used >= static_cast<double>(cost) && used < largest;
}

}  // namespace

Window charge(Call& call, const Opening& opening, std::int64_t cost) {
    call.replace_string();
    const Millis reset = open_until(call.hash(), opening);
    double used = 0;
    if (reset != 0 && count_on(call, cost, used)) {
        return {lua_integer(used), reset};
    }
    call.hset_used(Text(cost));
    call.hset_reset(Text(opening.proposed));
    call.pexpire(opening.proposed - opening.now + 1000);
    return {cost, opening.proposed};
}

}  // namespace rate_limit::simulated
