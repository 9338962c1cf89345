#pragma once

#include "bench/simulate/charge_refund.h"

namespace rate_limit::simulated {

/// src/limiter/modes/lease.cpp, with batches of `auto` size.
class Lease final : public ChargeRefund {
public:
    Recalled recall(Request& request) const override;
    void ask(Request& request) const override;
    void take_token(Request& request, std::int64_t tokens, const Window& found) const override;
    void settle(Request& request) const override;
};

}  // namespace rate_limit::simulated
