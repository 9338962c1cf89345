#pragma once

#include <algorithm>
#include <cstdint>

#include "core/limit/bucket.h"

namespace rate_limit {

/// The primary of one bucket: does what lua/bucket.lua does. Its time is in nanoseconds.
class ModelBucket {
public:
    std::int64_t draw(Nanos now, Nanos fill, Nanos token, std::int64_t want, std::int64_t least) {
        const Nanos missing = std::max<Nanos>(full_at_ - now, 0);
        const std::int64_t granted = std::min(want, std::max<Nanos>(fill - missing, 0) / token);
        if (granted < least) {
            return 0;
        }
        full_at_ = now + missing + granted * token;
        return granted;
    }

    void refund(Nanos now, Nanos cost) { full_at_ = std::max(full_at_ - cost, now); }

private:
    Nanos full_at_ = 0;
};

/// A bucket that all admitted requests are taken from when they pass: how much more than burst + rate * T has
/// passed, in any T. All in nanoseconds of refilling.
class ModelMeter {
public:
    explicit ModelMeter(Nanos fill) : fill_(fill) {}

    void admit(Nanos now, Nanos cost) {
        full_at_ = std::max(full_at_, now) + cost;
        admitted += cost;
        over = std::max(over, full_at_ - now - fill_);
    }

    Nanos admitted = 0;
    Nanos over = -max_fill;

private:
    Nanos fill_;
    Nanos full_at_ = 0;
};

}  // namespace rate_limit
