#include "bench/simulate/server/journal.h"

namespace rate_limit::simulated {

void Journal::add(Micros at, KeyId key, const Value* left) {
    writes_.push_back({at, key, left != nullptr ? *left : Value{}});
}

void Journal::forget_before(std::uint64_t position) noexcept {
    while (begin_ < position && !writes_.empty()) {
        writes_.pop_front();
        ++begin_;
    }
}

}  // namespace rate_limit::simulated
