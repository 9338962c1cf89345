#pragma once

#include <algorithm>
#include <cstdint>

#include "core/limit/bucket.h"

namespace rate_limit {

/// What one worker knows of the clock of one server, beside a clock of its own that nobody sets: as answers
/// that name the server's time have said lately. Each was made between the question and its arrival here; of
/// the offsets that this allows the least is taken, and kept while answers do not contradict it. So at() is
/// behind the server's clock by less than the quickest answer took, and hardly ever ahead.
class ServerClock {
public:
    /// So long what is known is used; by then two clocks may have parted by half a millisecond.
    static constexpr Nanos lately = 1'000'000'000;

    /// An answer that took longer says too little.
    static constexpr Nanos longest_way = 10'000'000;

    /// The server has answered a question of `asked` at its instant `told`, and the answer is here at
    /// `heard`.
    void learn(Nanos told, Nanos asked, Nanos heard) noexcept {
        if (heard < asked || heard - asked > longest_way) {
            return;
        }
        const Nanos least = told - heard;
        if (heard_ == 0 || offset_ < least || offset_ > told - asked) {
            offset_ = least;
        }
        heard_ = heard;
    }

    /// The server's time when the clock here says `now`; 0: it is not known.
    Nanos at(Nanos now) const noexcept {
        return heard_ != 0 && now - heard_ <= lately ? std::max<Nanos>(now + offset_, 0) : 0;
    }

    /// There may be another server.
    void forget() noexcept { heard_ = 0; }

private:
    Nanos offset_ = 0;
    Nanos heard_ = 0;  // 0: never
};

}  // namespace rate_limit
