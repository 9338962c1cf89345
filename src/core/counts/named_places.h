#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace rate_limit {

/// The places of what is counted under names, in memory that processes share and that outlives them: those of
/// the configuration at work, and those that workers add while they run. A name that is not configured any
/// more keeps its place while there is room for new names. When all places are taken, a new name takes the
/// one that has been out of use for longest.
///
/// A `Place` has the atomics `name`, of 64 bits, and `generation`, of 32: the last configuration that had the
/// name. Names are any numbers but 0 and the greatest. All zero bytes are free places. One process at a time
/// changes names.
template <typename Place>
class NamedPlaces {
public:
    static constexpr std::size_t none = ~std::size_t{0};

    /// `generation` says how many configurations have brought names.
    void use(Place* places, std::size_t count, std::atomic<std::uint32_t>& generation) noexcept {
        places_ = places;
        count_ = count;
        generation_ = &generation;
    }

    std::size_t count() const noexcept { return count_; }
    Place& operator[](std::size_t place) const noexcept { return places_[place]; }

    /// A place, once taken, is never free again: a search ends at the first that is.
    std::size_t find(std::uint64_t name) const noexcept {
        for (std::size_t i = 0; i < count_; ++i) {
            const std::size_t place = (name + i) % count_;
            const std::uint64_t found = places_[place].name.load(std::memory_order_acquire);
            if (found == name) {
                return place;
            }
            if (found == 0) {
                break;
            }
        }
        return none;
    }

    /// A configuration brings its names: begin(), then keep() for each of them, then add() for each, the most
    /// important first. What is not kept may give way.
    void begin() noexcept { generation_->fetch_add(1, std::memory_order_relaxed); }
    void keep(std::uint64_t name) noexcept {
        set_generation(name, generation_->load(std::memory_order_relaxed));
    }

    /// The name is the first to give way from now on.
    void drop(std::uint64_t name) noexcept { set_generation(name, 0); }

    /// Adds a name. If it has no place it gets one, and empty(place) resets what is counted there. False:
    /// there is no room.
    template <typename Empty>
    bool add(std::uint64_t name, Empty&& empty) noexcept {
        if (find(name) != none) {
            keep(name);
            return true;
        }
        std::size_t oldest = none;
        std::uint32_t least = generation_->load(std::memory_order_relaxed);
        for (std::size_t i = 0; i < count_; ++i) {
            const std::size_t place = (name + i) % count_;
            const std::uint64_t found = places_[place].name.load(std::memory_order_relaxed);
            const std::uint32_t generation =
                found == changing ? 0 : places_[place].generation.load(std::memory_order_relaxed);
            if (found == 0 || generation < least) {
                oldest = place;
                least = generation;
            }
            if (found == 0) {
                break;
            }
        }
        if (oldest == none) {
            return false;
        }
        places_[oldest].name.store(changing, std::memory_order_seq_cst);
        std::atomic_thread_fence(std::memory_order_seq_cst);
        empty(oldest);
        places_[oldest].generation.store(generation_->load(std::memory_order_relaxed),
                                         std::memory_order_relaxed);
        places_[oldest].name.store(name, std::memory_order_release);
        return true;
    }

private:
    /// The name of a place that is being given to another name, by a process that may have died.
    static constexpr std::uint64_t changing = ~std::uint64_t{0};

    void set_generation(std::uint64_t name, std::uint32_t generation) noexcept {
        const std::size_t place = find(name);
        if (place != none) {
            places_[place].generation.store(generation, std::memory_order_relaxed);
        }
    }

    Place* places_ = nullptr;
    std::size_t count_ = 0;
    std::atomic<std::uint32_t>* generation_ = nullptr;
};

}  // namespace rate_limit
