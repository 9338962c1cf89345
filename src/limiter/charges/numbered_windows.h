#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "core/table/window_id.h"

namespace rate_limit {

/// The windows of one store of which this worker has calls with numbers on their way, or unanswered. Those of
/// one window go one way, one behind the other: by different nodes, as after a failover, they could come in
/// another order than they were numbered. Redis knows the last number alone, and could not tell then what
/// became of a lower one.
class NumberedWindows {
public:
    /// Commands of one way come to Redis in the order in which they are sent.
    using Way = std::uint32_t;

    /// The way of a call that has no other before it or behind.
    static constexpr Way alone = 0;

    /// Calls at a time, of all windows: a turn of the event loop looks at all that are unanswered.
    static constexpr std::size_t most = 10'000;

    Way new_way() noexcept { return ++ways_; }

    /// False if one of this window goes another way, if there are `most`, or without memory: the next call
    /// goes without a number.
    bool begin(const WindowId& id, Way way = alone) noexcept {
        if (all_ >= most) {
            return false;
        }
        try {
            Calls& calls = windows_.try_emplace(id, Calls{way, 0}).first->second;
            const bool may = calls.count == 0 || (way != alone && calls.way == way);
            calls.count += may ? 1 : 0;
            all_ += may ? 1 : 0;
            return may;
        } catch (...) {
            return false;
        }
    }

    /// The result of one call is known, or nobody asks any more.
    void end(const WindowId& id) noexcept {
        const auto found = windows_.find(id);
        if (found == windows_.end()) {
            return;
        }
        --all_;
        if (--found->second.count == 0) {
            windows_.erase(found);
        }
    }

private:
    struct Calls {
        Way way;
        std::uint32_t count;
    };

    std::unordered_map<WindowId, Calls, HashOfId> windows_;
    Way ways_ = alone;
    std::size_t all_ = 0;  // calls
};

}  // namespace rate_limit
