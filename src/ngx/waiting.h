#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "core/waiting_charge.h"
#include "core/window.h"
#include "core/window_account.h"

namespace rate_limit {

class Zone;

/// What admitted requests owe to one window.
struct Owed {
    std::int64_t cost = 0;      ///< of all of them; below 0: it is given back
    std::uint64_t charges = 1;  ///< how many they are
    std::int64_t period = 0;
    WindowKind kind = WindowKind::first;
    Millis reset = 0;  ///< of the window found, or proposed, before the request
    WindowId id;       ///< what this machine remembers the window by
    Receipt receipt;
};

/// Charges that wait for one primary, summed per window; what is to be given back waits apart from what is to
/// be charged, for it is for one window alone. They wait in the zone, where any worker can take them up; what
/// finds no room there waits in this worker.
class WaitingCharges {
public:
    /// How many windows may wait in this worker.
    static constexpr std::size_t max_here = 100'000;

    /// `shard` as shard_digest() names it.
    WaitingCharges(Zone& zone, std::uint64_t shard) noexcept : zone_(zone), shard_(shard) {}

    struct Added {
        bool kept = false;  ///< false: no room, or no memory
        Owed closed;        ///< what waited for an earlier window of this key; no charges: nothing did
    };
    Added add(const std::string& key, const Owed& owed, Millis now);

    /// Takes out one window's, perhaps of one that has closed. False: nothing waits.
    bool take(std::string& key, Owed& owed);

    /// Takes out those in this worker whose window has closed.
    template <typename Fn>
    void take_closed(Millis now, Fn&& fn) {
        for (auto entry = here_.begin(); entry != here_.end();) {
            if (entry->second.reset <= now) {
                fn(entry->second);
                entry = here_.erase(entry);
            } else {
                ++entry;
            }
        }
    }

    /// Of those in the zone for one window.
    std::int64_t cost_of(const WindowId& id) const noexcept;

    bool full_here() const noexcept { return here_.size() >= max_here; }

    std::size_t here() const noexcept { return here_.size(); }  ///< windows that wait in this worker
    std::size_t count() const noexcept;                         ///< those in the zone, too

private:
    bool add_to_zone(const std::string& key, const Owed& owed, Millis now, Owed& closed) noexcept;
    bool take_from_zone(std::string& key, Owed& owed);

    Zone& zone_;
    const std::uint64_t shard_;
    std::unordered_map<std::string, Owed> here_;
    std::size_t set_ = 0;  // of the zone, where the search goes on
};

/// What charges in the zone know their shard by.
std::uint64_t shard_digest(std::string_view store, std::string_view shard) noexcept;

}  // namespace rate_limit
