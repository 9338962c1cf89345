#pragma once

#include <cstdint>

namespace rate_limit {

/// Tells whether events come so densely that waiting for more of them pays. Counts them in slots of the
/// clock, in milliseconds of any epoch.
class Traffic {
public:
    /// `slot`: how long the caller would wait. `dense`: how many events in that time are worth it.
    Traffic(std::uint64_t slot, std::uint32_t dense) noexcept : slot_(slot), dense_(dense) {}

    void add(std::uint64_t now) noexcept {
        if (now - begin_ >= slot_) {
            last_ = now - begin_ < 2 * slot_ ? count_ : 0;
            begin_ = now;
            count_ = 0;
        }
        ++count_;
    }

    /// Whether events were dense at the latest one.
    bool is_dense() const noexcept { return count_ >= dense_ || last_ >= dense_; }

private:
    std::uint64_t slot_;
    std::uint32_t dense_;
    std::uint32_t count_ = 0;  // in the slot that began at `begin_`
    std::uint32_t last_ = 0;   // in the slot before it
    std::uint64_t begin_ = 0;
};

}  // namespace rate_limit
