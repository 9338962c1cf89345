#include "bench/simulate/lease.h"

#include "bench/simulate/world.h"
#include "core/machine/tokens.h"

namespace rate_limit::simulated {

Recalled Lease::recall(Request& request) const {
    const Terms terms = request.terms();
    bool consumed = false;
    bool low = false;
    Millis reset = 0;
    request.machine().windows().change(request.id, [&](WindowRecord& record) {
        consumed = consume(record, terms, 1);
        low = consumed && may_fetch_ahead(record, terms);
        reset = record.reset;
    });
    if (!consumed) {
        const auto full = full_window(request);
        return full ? confirm_or_reject(request, *full) : Recalled::nothing;
    }
    request.holding = {Holding::Kind::token, 0, reset};
    request.world->measures.counted(request.key, reset, 1, request.world->events.now());
    if (low) {
        request.channel().fetches.fetch_ahead(request.key);
    }
    return Recalled::admitted;
}

void Lease::ask(Request& request) const {
    request.channel().fetches.fetch(request);
}

void Lease::take_token(Request& request, std::int64_t tokens, const Window& found) const {
    const Terms terms = request.terms();
    request.open = is_open(found, terms.rate.period, terms.now);
    request.shown = found.reset != 0 ? found : Window{0, terms.proposed};
    if (tokens == 0) {
        request.reject();
        return;
    }
    request.holding = {Holding::Kind::token, 0, found.reset};
    request.world->measures.counted(request.key, found.reset, 1, request.world->events.now());
    request.pass();
}

/// The token has been spent.
void Lease::settle(Request& /*request*/) const {}

}  // namespace rate_limit::simulated
