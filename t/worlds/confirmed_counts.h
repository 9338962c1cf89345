#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>

#include "core/machine/records/confirmed.h"
#include "t/world/events.h"

namespace rate_limit::world {

/// Counts that primaries have confirmed to each machine of the windows of one limit, which gives nothing
/// back. A machine tells the next primary what the former one has confirmed: so to a machine no primary ever
/// confirms less of a window than another one before.
class ConfirmedCounts {
public:
    /// A machine knows this now of the window of a key. Returns by how much less it has been confirmed since
    /// it was last noted, though the machine cannot have forgotten that; mostly 0.
    std::int64_t note(std::size_t key, std::size_t memory, const ConfirmedRecord& record, Micros now) {
        if (record.window.reset == 0) {
            return 0;
        }
        Seen& seen = seen_[{key, memory, record.window.reset}];
        const bool forgotten = now - seen.at > known_for;
        const std::int64_t less = forgotten ? 0 : seen.used - record.window.used;
        if (seen.used != record.window.used || seen.confirmed != record.at) {
            seen = {record.window.used, record.at, now};
        }
        return less > 0 ? less : 0;
    }

private:
    struct Seen {
        std::int64_t used = 0;
        Millis confirmed = 0;
        Micros at = 0;  // when this was first seen
    };

    /// Counts that were confirmed before then may have been forgotten.
    static constexpr Micros known_for = 8 * second;

    std::map<std::tuple<std::size_t, std::size_t, Millis>, Seen> seen_;  // by key, machine and end
};

}  // namespace rate_limit::world
