#pragma once

#include <cstdint>
#include <vector>

#include "core/counts/offenders.h"
#include "limiter/configuration.h"
#include "limiter/tallies/tallies.h"
#include "operator/figures/columns.h"

namespace rate_limit {

/// The keys that limits of the configuration have rejected most often, in the last ten to twenty minutes.
struct Top {
    struct Key {
        const Tally* limit;
        Offenders::Offender what;  ///< its key is empty where it is not to be shown
        bool has_key;              ///< this machine keeps the whole text of it
    };

    Millis since = 0;
    std::uint64_t total = 0;   ///< rejections since then
    std::uint64_t others = 0;  ///< rejections that were perhaps of keys other than these
    std::vector<Key> keys;     ///< the heaviest first
};

/// Texts of keys are shown only where `plain` says so. Throws std::bad_alloc.
Top top_of(const Configuration& main, bool plain);

/// The heading of the column that is on the page only where keys are shown.
constexpr std::string_view key_heading = "Key";

extern const Columns<Top::Key> top_columns;

}  // namespace rate_limit
