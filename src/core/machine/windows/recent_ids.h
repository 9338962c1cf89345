#pragma once

#include <array>
#include <cstdint>

#include "core/table/window_id.h"

namespace rate_limit {

/// The ids of the clients whose windows one process has lately asked for, so that a client that comes again
/// needs no second digest. A window that falls on the place of another takes it.
class RecentIds {
public:
    /// The id of the client; 0: not known.
    std::uint64_t find(const WindowId& window) const noexcept {
        const Entry& entry = entries_[window.low % entries_.size()];
        return entry.window == window ? entry.client : 0;
    }

    void keep(const WindowId& window, std::uint64_t client) noexcept {
        entries_[window.low % entries_.size()] = {window, client};
    }

private:
    struct Entry {
        WindowId window;
        std::uint64_t client = 0;
    };

    std::array<Entry, 512> entries_{};
};

}  // namespace rate_limit
