#pragma once

#include <algorithm>
#include <cstdint>

#include "core/limit/bucket.h"

namespace rate_limit {

/// The clock of one server as one worker knows it, beside a clock of its own that nobody sets: by answers of
/// late that name the server's time. Each was made between the question and its arrival here; what they all
/// allow, and how far two clocks may have parted since, are the bounds of the server's time.
class ServerClock {
public:
    /// So long what is known is used.
    static constexpr Nanos lately = 1'000'000'000;

    /// An answer that took longer says too little.
    static constexpr Nanos longest_way = 10'000'000;

    /// Two clocks part by less than one in so many.
    static constexpr Nanos parting = 2000;

    /// TIME leaves out what is less than a microsecond.
    static constexpr Nanos precision = 1000;

    /// The server's time is between these; 0: it is not known.
    struct Time {
        Nanos earliest = 0;
        Nanos latest = 0;
    };

    /// The server has answered a question of `asked` at its instant `told`, and the answer is here at
    /// `heard`.
    void learn(Nanos told, Nanos asked, Nanos heard) noexcept {
        if (heard < asked || heard - asked > longest_way) {
            return;
        }
        const Nanos least = told - heard;
        const Nanos most = told + precision - asked;
        const Nanos drift = heard_ != 0 ? (heard - heard_) / parting : 0;
        const bool agrees = heard_ != 0 && least <= most_ + drift && most >= least_ - drift;
        least_ = agrees ? std::max(least, least_ - drift) : least;
        most_ = agrees ? std::min(most, most_ + drift) : most;
        heard_ = heard;
    }

    /// When the clock here says `now`.
    Time at(Nanos now) const noexcept {
        if (heard_ == 0 || now - heard_ > lately) {
            return {};
        }
        const Nanos drift = (now - heard_) / parting;
        return {std::max<Nanos>(now + least_ - drift, 0), std::max<Nanos>(now + most_ + drift, 0)};
    }

    /// There may be another server.
    void forget() noexcept { heard_ = 0; }

private:
    Nanos least_ = 0;  // the server's clock is ahead of the one here by so much at least
    Nanos most_ = 0;
    Nanos heard_ = 0;  // 0: never
};

}  // namespace rate_limit
