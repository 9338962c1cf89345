#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "ngx/charges/backlog.h"

namespace rate_limit {

/// Refunds to windows of one shard that this worker has sent and that were not answered: lua/refund.lua is
/// called again under the same number, and gives nothing back twice. One of a window at most.
class UnansweredRefunds {
public:
    std::size_t size() const noexcept { return refunds_.size(); }

    /// False without memory, or if there is one of this window.
    bool add(const std::string& key, const Debt& owed, std::int64_t number) noexcept;

    /// Takes one out; there must be one.
    void take(std::string& key, Debt& owed, std::int64_t& number) noexcept;

    /// Takes out those for which is_over(Debt, number) is true, and calls fn(Debt) for each.
    template <typename IsOver, typename Fn>
    void take_over_ones(IsOver&& is_over, Fn&& fn) noexcept {
        for (auto at = refunds_.begin(); at != refunds_.end();) {
            if (!is_over(at->second.owed, at->second.number)) {
                ++at;
                continue;
            }
            const Debt owed = at->second.owed;
            at = refunds_.erase(at);
            fn(owed);
        }
    }

private:
    struct Refund {
        std::string key;
        Debt owed;
        std::int64_t number;
    };

    std::unordered_map<WindowId, Refund, HashOfId> refunds_;
};

}  // namespace rate_limit
