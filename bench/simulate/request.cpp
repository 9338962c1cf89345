#include "bench/simulate/request.h"

#include "bench/simulate/mode.h"
#include "bench/simulate/world.h"

namespace rate_limit::simulated {

void Request::begin() {
    world->measures.requested(key, world->millis());
    recalled = mode->recall(*this);
    if (recalled == Recalled::admitted) {
        pass();
    } else if (recalled == Recalled::used_up) {
        reject();
    } else {
        mode->ask(*this);
    }
}

void Request::happen() {
    if (life == worker->life()) {
        mode->settle(*this);
    }
    world->requests.put_back(*this);
}

void Request::answered(Message& message) {
    mode->take_answer(*this, message);
}

/// A check is not sent to another node, as the module would do: only primaries are ever away, and a check
/// goes to one only to confirm a rejection.
void Request::lost(Message& /*message*/, bool sent) {
    world->measures.reservations_in_doubt += sent && is_exact(world->way) ? 1 : 0;
    failed();
}

void Request::killed() {
    world->requests.put_back(*this);
}

void Request::served(std::int64_t tokens, const Window& found) {
    mode->take_token(*this, tokens, found);
}

void Request::failed() {
    if (recalled == Recalled::to_confirm && !doubtful) {
        reject();
    } else {
        deny();
    }
}

void Request::pass() {
    ++world->measures.admitted;
    world->events.in(response, *this);
}

void Request::reject() {
    world->measures.rejected(key, shown.reset, world->events.now());
    world->requests.put_back(*this);
}

void Request::deny() {
    ++world->measures.failed;
    world->requests.put_back(*this);
}

}  // namespace rate_limit::simulated
