#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "limiter/loop.h"

namespace rate_limit {

/// The value of a limit that was not there when it was needed.
enum class Missing : std::uint32_t { key = 1, rate = 2, burst = 4, cost = 8 };

/// Values of one line that were not there when they were needed. Whether they are at the end of the request
/// is looked at in some of them only, since a value may be empty by intent, in most requests; and it is told
/// once, by one worker. Lives in the configuration's pool; all limits of the line share it.
class LateWatch {
public:
    /// Whether this request is to be looked at: one of the first of this worker, or the first in a second.
    /// Never once it has been told.
    bool may_look(Missing what, Msec now) noexcept {
        if (told_ == nullptr || (told_->load(std::memory_order_relaxed) & bit(what)) != 0) {
            return false;
        }
        if (looks_ >= free_looks && now - looked_ < interval) {
            return false;
        }
        ++looks_;
        looked_ = now;
        return true;
    }

    /// True for the first of all workers.
    bool tell(Missing what) noexcept {
        return (told_->fetch_or(bit(what), std::memory_order_relaxed) & bit(what)) == 0;
    }

    bool is_shared() const noexcept { return told_ != nullptr; }
    void share(std::atomic<std::uint32_t>& told, std::size_t number) noexcept {
        told_ = &told;
        number_ = number;
    }

    /// The line's number, from 0, among those that are in effect.
    std::size_t number() const noexcept { return number_; }

    bool checked = false;     ///< check_values() has looked at the line
    bool field_told = false;  ///< a variable of a body's field in it that nothing sets has been told

private:
    static constexpr std::uint32_t free_looks = 100;
    static constexpr Msec interval = 1000;
    static constexpr std::uint32_t bit(Missing what) noexcept { return static_cast<std::uint32_t>(what); }

    std::atomic<std::uint32_t>* told_ = nullptr;  // bits of Missing, shared by all workers
    std::size_t number_ = 0;
    std::uint64_t looks_ = 0;
    Msec looked_ = 0;
};

}  // namespace rate_limit
