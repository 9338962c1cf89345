#pragma once

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

    /// Of a call that has no other before it or behind.
    static constexpr Way alone = 0;

    Way new_way() noexcept { return ++ways_; }

    /// False if one of this window goes another way, or without memory: the next call goes without a number.
    bool begin(const WindowId& id, Way way = alone) noexcept {
        try {
            Calls& calls = windows_.try_emplace(id, Calls{way, 0}).first->second;
            const bool may = calls.count == 0 || (way != alone && calls.way == way);
            calls.count += may ? 1 : 0;
            return may;
        } catch (...) {
            return false;
        }
    }

    /// What became of one is known, or nobody asks any more.
    void end(const WindowId& id) noexcept {
        const auto found = windows_.find(id);
        if (found != windows_.end() && --found->second.count == 0) {
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
};

}  // namespace rate_limit
