#include "ngx/charges/unanswered_refunds.h"

#include <algorithm>
#include <utility>

namespace rate_limit {

bool UnansweredRefunds::add(const std::string& key, const Debt& owed, std::int64_t number) noexcept {
    try {
        Refund refund{key, owed, number};
        Refunds& of_window = refunds_[owed.id];
        try {
            const auto lower = [](const Refund& a, std::int64_t b) { return a.number < b; };
            of_window.insert(std::lower_bound(of_window.begin(), of_window.end(), number, lower),
                             std::move(refund));
        } catch (...) {
            if (of_window.empty()) {
                refunds_.erase(owed.id);
            }
            return false;
        }
        ++size_;
        return true;
    } catch (...) {
        return false;
    }
}

void UnansweredRefunds::take(std::string& key, Debt& owed, std::int64_t& number) noexcept {
    take_first(refunds_.begin(), key, owed, number);
}

void UnansweredRefunds::take_of(const WindowId& id, std::string& key, Debt& owed,
                                std::int64_t& number) noexcept {
    take_first(refunds_.find(id), key, owed, number);
}

void UnansweredRefunds::take_first(Windows::iterator of, std::string& key, Debt& owed,
                                   std::int64_t& number) noexcept {
    Refund& first = of->second.front();
    key = std::move(first.key);
    owed = first.owed;
    number = first.number;
    of->second.erase(of->second.begin());
    --size_;
    if (of->second.empty()) {
        refunds_.erase(of);
    }
}

}  // namespace rate_limit
