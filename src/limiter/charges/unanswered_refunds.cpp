#include "limiter/charges/unanswered_refunds.h"

#include <utility>

namespace rate_limit {

bool UnansweredRefunds::add(const std::string& key, const Debt& owed, std::int64_t number,
                            Doubt why) noexcept {
    try {
        Refund refund{key, owed, why};
        Refunds& of_window = refunds_[owed.id];
        try {
            size_ += of_window.emplace(number, std::move(refund)).second ? 1 : 0;
        } catch (...) {
            if (of_window.empty()) {
                refunds_.erase(owed.id);
            }
            return false;
        }
        return true;
    } catch (...) {
        return false;
    }
}

Doubt UnansweredRefunds::take(const WindowId* id, std::string& key, Debt& owed,
                              std::int64_t& number) noexcept {
    const auto of = id != nullptr ? refunds_.find(*id) : refunds_.begin();
    const auto first = of->second.begin();
    number = first->first;
    key = std::move(first->second.key);
    owed = first->second.owed;
    const Doubt why = first->second.why;
    of->second.erase(first);
    --size_;
    if (of->second.empty()) {
        refunds_.erase(of);
    }
    return why;
}

}  // namespace rate_limit
