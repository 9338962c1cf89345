#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/limit/window.h"
#include "t/worlds/traffic_plan.h"

namespace rate_limit::world {

/// The window that each request of one limit was told. Where the limit gives back, it says which of them may
/// be stored although they were charged nothing: a machine cannot give back what it has taken from a window
/// that it did not know.
class ToldWindows {
public:
    struct Told {
        std::size_t memory = 0;  ///< of its machine
        std::int64_t cost = 0;
        Micros begun = 0;
        Micros decided = 0;
        Millis reset = 0;       ///< of the window that it was told; 0: it was told none
        bool answered = false;  ///< it is known whether the store has charged it
    };

    void add(std::size_t key, const Told& told) { told_[key].push_back(told); }

    /// The cost of those of the key of which nobody knows whether they were charged.
    std::int64_t unanswered(std::size_t key) const {
        std::int64_t sum = 0;
        for (const Told& told : of(key)) {
            sum += told.answered ? 0 : told.cost;
        }
        return sum;
    }

    /// The cost of those that may have been charged to the window that ends at `reset` before their machine
    /// was told of it: they began before that, and were not decided long before any machine was told of it.
    std::int64_t unaware(std::size_t key, Millis reset) const {
        constexpr Micros long_before = 10'000'000;
        constexpr Micros never = std::numeric_limits<Micros>::max();
        Micros first = never;
        std::map<std::size_t, Micros> aware;
        for (const Told& told : of(key)) {
            if (told.reset == reset) {
                Micros& since = aware.try_emplace(told.memory, never).first->second;
                since = std::min(since, told.decided);
                first = std::min(first, told.decided);
            }
        }
        std::int64_t sum = 0;
        for (const Told& told : of(key)) {
            const auto since = aware.find(told.memory);
            const bool before = since == aware.end() || told.begun <= since->second;
            const bool while_open = first == never || told.decided + long_before >= first;
            sum += before && while_open ? told.cost : 0;
        }
        return sum;
    }

private:
    const std::vector<Told>& of(std::size_t key) const {
        static const std::vector<Told> none;
        const auto found = told_.find(key);
        return found != told_.end() ? found->second : none;
    }

    std::unordered_map<std::size_t, std::vector<Told>> told_;
};

}  // namespace rate_limit::world
