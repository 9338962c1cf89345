#include "core/overrides/known_overrides.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace rate_limit {

namespace {

/// While others change the table again and again: what is seen then is renewed by the next request.
constexpr unsigned most_looks = 3;

}  // namespace

void KnownOverrides::renew(Millis now) noexcept {
    if (table_.generation() == generation_) {
        return;
    }
    try {
        for (unsigned look = 0; look < most_looks; ++look) {
            const std::uint64_t generation = table_.settled_generation();
            decltype(known_) known;
            std::size_t keys = 0;
            for (const Override& what : table_.read(now)) {
                known[what.subject] = {what.kind, what.percent, what.until};
                keys += what.subject.key != 0 ? 1 : 0;
            }
            std::atomic_thread_fence(std::memory_order_acquire);
            known_ = std::move(known);
            keys_ = keys;
            generation_ = generation;
            if (table_.generation() == generation) {
                return;
            }
        }
    } catch (...) {
        // without memory what was known holds
    }
}

KnownOverrides::Effect KnownOverrides::of(const OverrideSubject& subject, Millis now) const noexcept {
    const auto found = known_.find(subject);
    return found != known_.end() && now < found->second.until ? found->second : Effect{};
}

void KnownOverrides::tidy(Millis now) noexcept {
    if (none()) {
        return;
    }
    renew(now);
    if (std::any_of(known_.begin(), known_.end(),
                    [now](const auto& one) { return one.second.until <= now; })) {
        table_.tidy(now);
        renew(now);
    }
}

}  // namespace rate_limit
