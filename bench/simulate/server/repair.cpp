#include "bench/simulate/server/scripts.h"

namespace rate_limit::simulated {

Window repair(Call& call, const Opening& opening) {
    const Millis ttl = call.pttl();
    if (ttl == -2 || call.is_string()) {
        return {};
    }
    const Hash* fields = call.hash();
    std::int64_t used = whole(fields->used);
    Millis reset = whole(fields->reset);

    const bool open = reset > opening.now && reset <= opening.latest;
    const bool closed = reset >= 0 && reset <= opening.now;

    if (closed || used < 0) {
        used = 0;
        call.hset_used(Text(std::int64_t{0}));
    }
    if (!open) {
        reset = opening.proposed;
        call.hset_reset(Text(opening.proposed));
    }
    if (!open || ttl == -1) {
        call.pexpire(reset - opening.now + 1000);
    }
    return {used, reset};
}

}  // namespace rate_limit::simulated
