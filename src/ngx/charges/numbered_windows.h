#pragma once

#include <unordered_set>

#include "core/limit/window.h"
#include "core/table/window_id.h"

namespace rate_limit {

/// The windows of one store of which this worker has a call with a number on its way, or unanswered. One of a
/// window at a time: two could go by different nodes, as after a failover, and come in another order than they
/// were numbered. Redis knows the last number alone, and could not tell then what became of the lower one.
class NumberedWindows {
public:
    /// False if there is one of this window, or without memory: the next call goes without a number.
    bool begin(const WindowId& id) noexcept {
        try {
            return windows_.insert(id).second;
        } catch (...) {
            return false;
        }
    }

    /// What became of it is known, or nobody asks any more.
    void end(const WindowId& id) noexcept { windows_.erase(id); }

private:
    std::unordered_set<WindowId, HashOfId> windows_;
};

}  // namespace rate_limit
