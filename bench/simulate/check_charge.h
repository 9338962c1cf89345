#pragma once

#include "bench/simulate/mode.h"

namespace rate_limit::simulated {

/// src/limiter/modes/check_charge.cpp, with `fresh auto` or `fresh off`.
class CheckCharge final : public Mode {
public:
    explicit constexpr CheckCharge(bool fresh) noexcept : fresh_(fresh) {}

    Recalled recall(Request& request) const override;
    void ask(Request& request) const override;
    void take_answer(Request& request, Message& message) const override;
    void settle(Request& request) const override;

private:
    bool enter_window(Request& request, const Window* answer) const;

    const bool fresh_;
};

}  // namespace rate_limit::simulated
