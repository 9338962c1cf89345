#pragma once

#include <algorithm>
#include <vector>

#include "core/limit/window.h"
#include "core/table/window_id.h"

namespace rate_limit {

/// Windows that the primary has lost, while this worker has increments on their way to them. The first answer
/// tells, by the cost alone; the primary is then asked to open a window. The increments behind it were
/// counted with it, and what they took goes back to the window that opens, which is not known yet when they
/// are answered.
class LostWindows {
public:
    /// Without memory it is not noted: what such an increment takes may not go back.
    void begin(const WindowId& id, Millis reset) noexcept {
        try {
            windows_.push_back({id, reset});
        } catch (...) {
        }
    }

    bool has(const WindowId& id, Millis reset) const noexcept { return find(id, reset) != windows_.end(); }

    /// The primary has answered, or will not.
    void end(const WindowId& id, Millis reset) noexcept {
        const auto found = find(id, reset);
        if (found != windows_.end()) {
            windows_.erase(found);
        }
    }

private:
    struct Lost {
        WindowId id;
        Millis reset;  // of the window that was lost
    };

    std::vector<Lost>::const_iterator find(const WindowId& id, Millis reset) const noexcept {
        return std::find_if(windows_.begin(), windows_.end(),
                            [&](const Lost& each) { return each.reset == reset && each.id == id; });
    }

    std::vector<Lost> windows_;  // hardly ever any
};

}  // namespace rate_limit
