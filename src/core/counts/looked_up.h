#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace rate_limit {

/// The ids of keys that operators have looked up last, each with its limit, in memory that processes share
/// and that is all zero at first. No text of a key is among them.
class LookedUp {
public:
    static constexpr std::size_t most = 64;

    void note(std::uint64_t id, std::uint64_t limit) noexcept {
        if (id == 0 || limit_of(id) != 0) {
            return;
        }
        Place& place = places_[next_.fetch_add(1, std::memory_order_relaxed) % most];
        place.id.store(0, std::memory_order_relaxed);
        place.limit.store(limit, std::memory_order_release);
        place.id.store(id, std::memory_order_release);
    }

    /// The limit that the id is of; 0: the id is not among them.
    std::uint64_t limit_of(std::uint64_t id) const noexcept {
        for (const Place& place : places_) {
            if (id != 0 && place.id.load(std::memory_order_acquire) == id) {
                const std::uint64_t limit = place.limit.load(std::memory_order_acquire);
                return place.id.load(std::memory_order_relaxed) == id ? limit : 0;
            }
        }
        return 0;
    }

private:
    struct Place {
        std::atomic<std::uint64_t> id;
        std::atomic<std::uint64_t> limit;
    };

    std::atomic<std::uint32_t> next_{0};
    std::array<Place, most> places_{};
};

}  // namespace rate_limit
