#include "core/overrides/known_overrides.h"

#include <algorithm>
#include <utility>

namespace rate_limit {

/// A change meanwhile changes the generation again.
void KnownOverrides::renew(Millis now) noexcept {
    const std::uint64_t generation = table_.generation();
    if (generation == generation_) {
        return;
    }
    try {
        decltype(known_) known;
        std::size_t keys = 0;
        for (const Override& what : table_.read(now)) {
            known[what.subject] = {what.kind, what.percent, what.until};
            keys += what.subject.key != 0 ? 1 : 0;
        }
        known_ = std::move(known);
        keys_ = keys;
        generation_ = generation;
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
