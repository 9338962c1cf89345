#pragma once

#include <cstdint>
#include <unordered_map>

#include "core/overrides/override_table.h"

namespace rate_limit {

/// The overrides as one process knows them: a copy of the table, renewed when that has changed.
class KnownOverrides {
public:
    /// The override that holds for a request.
    struct Effect {
        OverrideKind kind = OverrideKind::none;
        std::uint8_t percent = 0;  ///< the keys that OverrideKind::enforce enforces
        Millis until = 0;
    };

    /// The table outlives this.
    explicit KnownOverrides(OverrideTable& table) noexcept : table_(table) {}

    /// True if there is no override: then nothing else need be asked. Costs one load.
    bool none() noexcept { return table_.generation() == generation_ && known_.empty(); }

    /// Takes up what has changed. To be called before of(), unless none(). Without memory
    /// what was known stays, and the next call tries again.
    void renew(Millis now) noexcept;

    /// Whether an override of some key, or of some limit, is known.
    bool has_keys() const noexcept { return keys_ != 0; }
    bool has_limits() const noexcept { return keys_ != known_.size(); }

    /// The override that holds for this subject; kind none: there is none.
    Effect of(const OverrideSubject& subject, Millis now) const noexcept;

    /// Frees what has ended, for all processes. To be called about once a second.
    void tidy(Millis now) noexcept;

private:
    OverrideTable& table_;
    std::uint64_t generation_ = ~std::uint64_t{0};  // the table's, of which known_ is a copy
    std::unordered_map<OverrideSubject, Effect, HashOfSubject> known_;
    std::size_t keys_ = 0;  // how many of them are of keys
};

}  // namespace rate_limit
