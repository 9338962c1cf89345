#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/counts/offenders.h"
#include "core/text/json_text.h"
#include "limiter/configuration.h"
#include "limiter/tallies/tallies.h"

namespace rate_limit {

/// The keys that limits of the configuration have rejected most often, in the last ten to twenty minutes.
struct Top {
    struct Key {
        const Tally* limit;
        Offenders::Offender what;
    };

    Millis since = 0;
    std::uint64_t total = 0;   ///< rejections since then
    std::uint64_t others = 0;  ///< rejections that were perhaps of keys other than these
    std::vector<Key> keys;     ///< the heaviest first
};

/// Throws std::bad_alloc.
Top top_of(const Configuration& main);

/// The members of the object `top` before its array `keys`. Throws std::bad_alloc.
void write_top_sums(JsonText& json, const Top& top);

/// An element of that array. The text of the key is shown only where `plain` says so. Throws std::bad_alloc.
void write_top_key(JsonText& json, const Top::Key& key, bool plain);

}  // namespace rate_limit
