#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "core/limit/window.h"
#include "limiter/charges/losses.h"
#include "limiter/charges/numbered_windows.h"
#include "limiter/kinds/owed/demand.h"
#include "limiter/loop.h"
#include "redis/keys/routes.h"

namespace rate_limit {

/// A batch of tokens of a window that was sent and is in doubt: Redis may have granted it.
struct UnansweredBatch {
    std::int64_t number = 0;  ///< the call's, as lua/reserve.lua knows it
    std::int64_t want = 0;    ///< at most so many tokens were granted
    Millis until = 0;         ///< it is asked for until then; its window may end before
    Msec asked = 0;           ///< when it was last asked for
    Route route = 0;
    std::string key;
    Demand demand;
    Doubt why = Doubt::untold;
};

/// Those of one store and worker, one of a window at most: the next batch of that window is asked for under
/// the same number, which tells what became of the one before. Where no request asks, the owner does, now and
/// then. Nothing is kept of batches that were answered.
class UnansweredBatches {
public:
    /// How many batches are asked for again in one call of walk().
    static constexpr std::size_t most_at_once = 64;

    /// Batches, besides those that are on their way: a turn of the event loop looks at all.
    static constexpr std::size_t most = NumberedWindows::most;

    /// A batch with a number leaves: of one window one at a time. False: it has to leave without.
    bool begin(const WindowId& id) noexcept {
        return (batches_.size() < most || batches_.count(id) != 0) && under_way_.begin(id);
    }

    /// It was answered, or will not be.
    void end(const WindowId& id) noexcept { under_way_.end(id); }

    /// Takes the place of one of the same window, but not longer than that one. False without memory.
    bool add(UnansweredBatch batch) noexcept;

    /// Null: it is not there. Valid until the next call of another function.
    const UnansweredBatch* find(const WindowId& id) const noexcept;

    std::size_t size() const noexcept { return batches_.size(); }

    void remove(const WindowId& id) noexcept { batches_.erase(id); }

    /// Calls fn(UnansweredBatch) for some that were not asked for within the last `pause`, those first that
    /// have waited longest, and forgets those whose `until` has passed. Returns how many are left. Throws
    /// std::bad_alloc.
    template <typename Fn>
    std::size_t walk(Millis now, Fn&& fn) {
        std::array<WindowId, most_at_once> due;
        const std::size_t count = find_due(now, due);
        for (std::size_t i = 0; i < count; ++i) {
            const auto found = batches_.find(due[i]);  // fn may bring others here, and take some away
            if (found == batches_.end()) {
                continue;
            }
            const UnansweredBatch batch = found->second;
            if (batch.until <= now) {
                batches_.erase(found);
            }
            fn(batch);
        }
        return batches_.size();
    }

    template <typename Fn>
    void for_each(Fn&& fn) const noexcept {
        for (const auto& [id, batch] : batches_) {
            fn(batch);
        }
    }

private:
    static constexpr Msec pause = 250;

    std::size_t find_due(Millis now, std::array<WindowId, most_at_once>& due) noexcept;

    NumberedWindows under_way_;
    std::unordered_map<WindowId, UnansweredBatch, HashOfId> batches_;
};

}  // namespace rate_limit
