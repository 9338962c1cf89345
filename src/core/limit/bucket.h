#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/limit/rate.h"
#include "core/limit/window.h"

namespace rate_limit {

/// Nanoseconds; points in time count from the UTC epoch.
using Nanos = std::int64_t;

constexpr Nanos nanos_in_milli = 1'000'000;

/// No token takes less time to be refilled: as it takes whole nanoseconds, up to a hundredth of the rate is
/// lost at this.
constexpr Nanos least_token = 100;

/// A bucket never takes longer than this to fill, 30 years: a record has 40 bits for its milliseconds, and
/// its instants have the 19 digits that lua/bucket.lua reads.
constexpr Nanos max_fill = 946'728'000'000'000'000;

/// In Redis a bucket is stored so much longer than it takes to be full, so that plain commands find it there:
/// lua/bucket.lua says the same. `fill` is the time that it takes to fill.
constexpr Millis stored_longer(Nanos fill) noexcept {
    return 60'000 + fill / (16 * nanos_in_milli);
}

/// Tells apart limits that share a bucket, but not its rate and burst: a token of one takes another time to
/// refill than a token of the other. Of 20 bits: one of a million pairs has the same. `fill` is the time that
/// the bucket takes to fill.
constexpr std::uint32_t mark_of(Nanos token, Nanos fill) noexcept {
    const std::uint64_t mixed = static_cast<std::uint64_t>(token) * 0x9e37'79b9'7f4a'7c15 +
                                static_cast<std::uint64_t>(fill) * 0xc2b2'ae3d'27d4'eb4f;
    return static_cast<std::uint32_t>((mixed ^ mixed >> 29) * 0xbf58'476d'1ce4'e5b9 >> 44);
}

/// The receipt that a request gets for what it takes of a bucket, for when that goes back.
struct BucketReceipt {
    /// When it is refilled on the bucket's own line of time, which stands still for as long as it takes to
    /// refill what is given back: the instant when the bucket was to be full after the taking, and what had
    /// been given back until then, in nanoseconds of refilling from wherever that count began. Modulo 2^64.
    /// 0: nothing is known, and it is worth all of itself.
    std::uint64_t mark = 0;

    Nanos at = 0;  ///< when it was taken, or before that; 0: not known

    /// It is worth nothing once others have taken something after it. Where what others have given back was
    /// not known as it was taken, as by a plain command, that looks as if they had. What goes back so is not
    /// counted as given back, as if it had never been taken: then the receipt before it is the last one.
    bool only_last = false;
};

/// The count of a bucket when something goes back to it.
struct BucketCount {
    std::uint64_t returned = 0;  ///< has been given back until now
    Nanos longest = 0;           ///< that any of the limits that share the bucket takes to fill it
    Nanos now = 0;
    Nanos full_at = 0;  ///< when it is full again
};

/// The worth of `cost` nanoseconds of refilling that go back: what has been refilled of them is there
/// already, and others may have taken it. A mark that is too far away is of another count.
///
/// The bucket refills what is missing in the order in which it was taken. So what was taken `now - at` ago
/// cannot have been refilled by more than that. And what was taken before it was all refilled at `mark` less
/// what has gone back since, as far as that was older. Both say how much at least is not refilled yet, and so
/// does the greater one. As nothing that goes back has been refilled, no more than burst + rate * T are taken
/// for good in any time T.
///
/// Taking moves the mark of the next receipt on, and giving back does not: a receipt is the last one as long
/// as its mark is what a new one would have.
constexpr Nanos worth_of(const BucketReceipt& receipt, const BucketCount& count, Nanos cost) noexcept {
    if (receipt.only_last) {
        const bool is_last =
            receipt.mark != 0 && receipt.mark == static_cast<std::uint64_t>(count.full_at) + count.returned;
        return is_last ? std::min(std::max<Nanos>(count.full_at - count.now, 0), cost) : 0;
    }
    if (receipt.mark == 0) {
        return cost;
    }
    const auto rest =
        static_cast<Nanos>(receipt.mark - count.returned - static_cast<std::uint64_t>(count.now));
    const Nanos by_mark = rest <= 2 * count.longest ? rest : 0;
    const Nanos by_age = receipt.at != 0 ? cost - (count.now - receipt.at) : 0;
    return std::min(std::max<Nanos>({by_mark, by_age, 0}), cost);
}

/// A token bucket: `burst` tokens may be taken at once, and it is refilled at a rate. In any time T no more
/// than burst + rate * T are taken. All that is stored of it is `full_at`, the instant when it will be full
/// again: the virtual scheduling of the generic cell rate algorithm (ITU-T I.371, annex A), whose theoretical
/// arrival time that is. An instant in the past is a full bucket, one further away than fill() an empty one.
/// Limits that share an instant may differ in rate and burst: none of them moves it further away than its own
/// fill(), and none brings it nearer but by what it gives back.
class Bucket {
public:
    /// Empty where why_no_bucket() has words. `rate.limit` and `burst` are 1 or more, and within their
    /// bounds.
    static std::optional<Bucket> of(const Rate& rate, std::int64_t burst) noexcept;

    /// This bucket with a burst that is smaller by `tokens`, which are less than the burst.
    Bucket less(std::int64_t tokens) const noexcept { return {burst_ - tokens, token_}; }

    std::int64_t burst() const noexcept { return burst_; }
    Nanos token() const noexcept { return token_; }  ///< to refill one token; never less than the rate says
    Nanos fill() const noexcept { return burst_ * token_; }  ///< to fill the empty bucket
    std::int64_t fill_seconds() const noexcept;              ///< seconds to fill the empty bucket, rounded up

    /// How many whole tokens are there.
    std::int64_t left(Nanos full_at, Nanos now) const noexcept;

    /// Takes `cost` tokens if they are there; true if they were.
    bool take(Nanos& full_at, Nanos now, std::int64_t cost) const noexcept;

    /// Takes them in any case; a bucket that has fewer is empty then.
    void charge(Nanos& full_at, Nanos now, std::int64_t cost) const noexcept;

    /// Puts tokens back, as many as fit.
    void give_back(Nanos& full_at, Nanos now, std::int64_t cost) const noexcept;

    /// When `cost` tokens are there, if nobody takes any; `now`, if they are. `cost` is at most the burst.
    /// An instant that a limit with a longer fill has moved means: the bucket has nothing until that is less
    /// than fill() away.
    Nanos ready_at(Nanos full_at, Nanos now, std::int64_t cost) const noexcept;

    /// When there will be one token more than now; of a full bucket `now`.
    Nanos more_at(Nanos full_at, Nanos now) const noexcept;

    /// How long a request waits for its turn that has left the bucket so: until no more than `at_once` tokens
    /// of those used are left to refill.
    Nanos delay(Nanos full_at, Nanos now, std::int64_t at_once) const noexcept;

private:
    Bucket(std::int64_t burst, Nanos token) noexcept : burst_(burst), token_(token) {}

    Nanos missing(Nanos full_at, Nanos now) const noexcept;

    std::int64_t burst_;
    Nanos token_;
};

/// Why there is no bucket of this rate and burst, and the remedy: for the log. Null: there is one.
const char* why_no_bucket(const Rate& rate, std::int64_t burst) noexcept;

/// Reads a burst, 1 to max_limit in decimal digits. False for any other text.
bool parse_burst(std::string_view text, std::int64_t& burst) noexcept;

constexpr Nanos nanos_of(Millis time) noexcept {
    return time * nanos_in_milli;
}

/// Rounded up.
constexpr Millis millis_of(Nanos time) noexcept {
    return time / nanos_in_milli + (time % nanos_in_milli > 0 ? 1 : 0);
}

}  // namespace rate_limit
