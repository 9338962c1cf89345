#include "ngx/charges/unanswered_refunds.h"

#include <utility>

namespace rate_limit {

bool UnansweredRefunds::add(const std::string& key, const Debt& owed, std::int64_t number) noexcept {
    try {
        return refunds_.emplace(owed.id, Refund{key, owed, number}).second;
    } catch (...) {
        return false;
    }
}

void UnansweredRefunds::take(std::string& key, Debt& owed, std::int64_t& number) noexcept {
    const auto first = refunds_.begin();
    key = std::move(first->second.key);
    owed = first->second.owed;
    number = first->second.number;
    refunds_.erase(first);
}

}  // namespace rate_limit
