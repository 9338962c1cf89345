#pragma once

#include "bench/simulate/mode.h"

namespace rate_limit::simulated {

/// src/limiter/modes/charge_refund.cpp, and what src/limiter/store/reservation.cpp does for it.
class ChargeRefund : public Mode {
public:
    Recalled recall(Request& request) const override;
    void ask(Request& request) const override;
    void take_answer(Request& request, Message& message) const override;
    void settle(Request& request) const override;

private:
    void admit(Request& request, std::int64_t granted, const Window& answer) const;
    void reserve(Request& request) const;
};

}  // namespace rate_limit::simulated
