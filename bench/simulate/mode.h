#pragma once

#include <cstdint>

#include "bench/simulate/request.h"

namespace rate_limit::simulated {

/// A mode of src/limiter/modes, over the same functions of core in the same order: recall → ask → admit →
/// settle. Each request costs 1.
class Mode {
public:
    virtual Recalled recall(Request& request) const = 0;
    virtual void ask(Request& request) const = 0;

    /// The store has answered; the request passes or not.
    virtual void take_answer(Request& request, Message& message) const = 0;

    /// A fetch has (lease).
    virtual void take_token(Request& /*request*/, std::int64_t /*tokens*/, const Window& /*found*/) const {}

    /// The response is over, and is charged.
    virtual void settle(Request& request) const = 0;

protected:
    ~Mode() = default;
};

const Mode& mode_of(Way way) noexcept;

// Functions as in src/limiter/modes/recollection.h.
std::optional<WindowRecord> open_window(const Request& request) noexcept;
std::optional<WindowRecord> full_window(const Request& request) noexcept;
Recalled reject_by(Request& request, const WindowRecord& record) noexcept;
Recalled confirm_or_reject(Request& request, const WindowRecord& record) noexcept;
bool may_be_used_up(const Request& request) noexcept;
void note_used_up(Request& request) noexcept;

}  // namespace rate_limit::simulated
