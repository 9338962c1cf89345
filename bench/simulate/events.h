#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace rate_limit::simulated {

/// Microseconds of virtual time, since the epoch.
using Micros = std::int64_t;

/// Something that happens at an instant of virtual time.
class Happening {
public:
    virtual void happen() = 0;

protected:
    ~Happening() = default;
};

/// The virtual clock and all that is still to happen, in the order of time; at one instant first come, first
/// served. Nothing is ever taken out: what has become pointless finds that out when it happens.
class Events {
public:
    static constexpr Micros start = 1'700'000'000'000'000;

    Micros now() const noexcept { return now_; }

    /// A time in the past becomes now.
    void at(Micros when, Happening& what) {
        heap_.push_back({std::max(when, now_), order_++, &what});
        std::push_heap(heap_.begin(), heap_.end());
    }
    void in(Micros time, Happening& what) { at(now_ + time, what); }

    /// Lets everything happen until then.
    void run(Micros until) {
        while (!heap_.empty() && heap_.front().at <= until) {
            std::pop_heap(heap_.begin(), heap_.end());
            const Event next = heap_.back();
            heap_.pop_back();
            now_ = next.at;
            ++count_;
            next.what->happen();
        }
        now_ = std::max(now_, until);
    }

    /// How many have happened.
    std::uint64_t count() const noexcept { return count_; }

private:
    struct Event {
        Micros at;
        std::uint64_t order;
        Happening* what;

        /// The heap's first one is the largest: what happens first.
        friend bool operator<(const Event& a, const Event& b) noexcept {
            return a.at != b.at ? a.at > b.at : a.order > b.order;
        }
    };

    std::vector<Event> heap_;
    Micros now_ = start;
    std::uint64_t order_ = 0;
    std::uint64_t count_ = 0;
};

}  // namespace rate_limit::simulated
