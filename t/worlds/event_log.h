#pragma once

#include <ostream>

#include "t/world/events.h"

namespace rate_limit::world {

/// The events of a world, a line for each event.
class EventLog {
public:
    /// `to`: null, where nobody reads it.
    EventLog(const Events& events, std::ostream* to) noexcept : events_(events), to_(to) {}

    bool is_kept() const noexcept { return to_ != nullptr; }

    template <typename... Words>
    void add(const Words&... words) {
        if (to_ != nullptr) {
            *to_ << events_.now();
            ((void)(*to_ << ' ' << words), ...);
            *to_ << '\n';
        }
    }

private:
    const Events& events_;
    std::ostream* const to_;
};

}  // namespace rate_limit::world
