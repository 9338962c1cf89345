#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>

#include "limiter/charges/losses.h"
#include "limiter/kinds/owed/debt.h"

namespace rate_limit {

/// Refunds to windows of one shard that this worker has sent and that are in doubt: lua/refund.lua is called
/// again under the same numbers, the lowest of a window first, and gives nothing back twice.
class UnansweredRefunds {
public:
    std::size_t size() const noexcept { return size_; }

    /// Whether there is one of this window.
    bool has(const WindowId& id) const noexcept { return size_ != 0 && refunds_.find(id) != refunds_.end(); }

    /// `why` it is in doubt. False without memory.
    bool add(const std::string& key, const Debt& owed, std::int64_t number, Doubt why) noexcept;

    /// Takes out the first refund of this window, or, where `id` is null, of any; there must be one. Returns
    /// why it is in doubt.
    Doubt take(const WindowId* id, std::string& key, Debt& owed, std::int64_t& number) noexcept;

    /// Takes out those for which is_over(Debt, number) is true, and calls fn(Debt, Doubt) for each.
    template <typename IsOver, typename Fn>
    void take_over_ones(IsOver&& is_over, Fn&& fn) noexcept {
        for (auto at = refunds_.begin(); at != refunds_.end();) {
            Refunds& of_window = at->second;
            for (auto one = of_window.begin(); one != of_window.end();) {
                if (!is_over(one->second.owed, one->first)) {
                    ++one;
                    continue;
                }
                const Debt owed = one->second.owed;
                const Doubt why = one->second.why;
                one = of_window.erase(one);
                --size_;
                fn(owed, why);
            }
            at = of_window.empty() ? refunds_.erase(at) : std::next(at);
        }
    }

private:
    struct Refund {
        std::string key;
        Debt owed;
        Doubt why = Doubt::untold;
    };
    using Refunds = std::map<std::int64_t, Refund>;  // by their numbers
    using Windows = std::unordered_map<WindowId, Refunds, HashOfId>;

    Windows refunds_;  // none is empty
    std::size_t size_ = 0;
};

}  // namespace rate_limit
