#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "ngx/charges/backlog.h"

namespace rate_limit {

/// Refunds to windows of one shard that this worker has sent and that were not answered: lua/refund.lua is
/// called again under the same number, and gives nothing back twice.
class UnansweredRefunds {
public:
    std::size_t size() const noexcept { return refunds_.size(); }

    /// Whether there is one of this window.
    bool has(const WindowId& id) const noexcept { return refunds_.find(id) != refunds_.end(); }

    /// False without memory, or if there is one of this window.
    bool add(const std::string& key, const Debt& owed, std::int64_t number) noexcept;

    /// Takes one out; there must be one.
    void take(std::string& key, Debt& owed, std::int64_t& number) noexcept;

private:
    struct Refund {
        std::string key;
        Debt owed;
        std::int64_t number;
    };

    std::unordered_map<WindowId, Refund, HashOfId> refunds_;
};

}  // namespace rate_limit
