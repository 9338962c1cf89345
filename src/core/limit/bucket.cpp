#include "core/limit/bucket.h"

#include <algorithm>

#include "core/decimal.h"

namespace rate_limit {

namespace {

constexpr Nanos nanos_in_second = 1'000'000'000;

Nanos divide_up(Nanos a, Nanos b) noexcept {
    return a / b + (a % b > 0 ? 1 : 0);
}

Nanos token_of(const Rate& rate) noexcept {
    return divide_up(rate.period * nanos_in_second, rate.limit);
}

/// lua/bucket.lua reckons with numbers of 53 bits. Of buckets that take longer to fill, 104 days, a token
/// takes a multiple of this, so that all that a whole number of tokens takes has its place among these
/// numbers.
constexpr Nanos coarse = 128;
constexpr Nanos exact_fill = Nanos{1} << 53;
static_assert(max_fill / coarse < exact_fill);

/// Nanoseconds to refill one token, never less than the rate says. `burst` tokens take no longer than
/// max_fill, or a bit more.
Nanos token_for(const Rate& rate, std::int64_t burst) noexcept {
    const Nanos token = token_of(rate);
    return burst > exact_fill / token ? divide_up(token, coarse) * coarse : token;
}

}  // namespace

std::optional<Bucket> Bucket::of(const Rate& rate, std::int64_t burst) noexcept {
    if (why_no_bucket(rate, burst) != nullptr) {
        return std::nullopt;
    }
    return Bucket(burst, token_for(rate, burst));
}

const char* why_no_bucket(const Rate& rate, std::int64_t burst) noexcept {
    const Nanos token = token_of(rate);
    if (token < least_token) {
        return "a bucket refills no more than 10,000,000 a second: divide the rate, \"burst=\" and \"cost=\" "
               "by "
               "the same number";
    }
    return burst > max_fill / token_for(rate, burst)
               ? "the bucket takes more than 30 years to fill: lower \"burst=\", or raise "
                 "the rate"
               : nullptr;
}

std::int64_t Bucket::fill_seconds() const noexcept {
    return divide_up(fill(), nanos_in_second);
}

/// Nanoseconds until it is full.
Nanos Bucket::missing(Nanos full_at, Nanos now) const noexcept {
    return full_at > now ? std::min(full_at - now, fill()) : 0;
}

std::int64_t Bucket::left(Nanos full_at, Nanos now) const noexcept {
    return (fill() - missing(full_at, now)) / token_;
}

bool Bucket::take(Nanos& full_at, Nanos now, std::int64_t cost) const noexcept {
    if (cost > left(full_at, now)) {
        return false;
    }
    full_at = now + missing(full_at, now) + cost * token_;
    return true;
}

void Bucket::charge(Nanos& full_at, Nanos now, std::int64_t cost) const noexcept {
    const Nanos from = std::max(full_at, now);
    if (from < now + fill()) {
        full_at = std::min(from + std::min(cost, burst_) * token_, now + fill());
    }
}

void Bucket::give_back(Nanos& full_at, Nanos now, std::int64_t cost) const noexcept {
    full_at = std::max(std::max(full_at, now) - std::min(cost, burst_) * token_, now);
}

Nanos Bucket::ready_at(Nanos full_at, Nanos now, std::int64_t cost) const noexcept {
    const Nanos room = fill() - cost * token_;
    return full_at > now ? std::max(full_at - room, now) : now;
}

Nanos Bucket::more_at(Nanos full_at, Nanos now) const noexcept {
    const Nanos lacking = missing(full_at, now);
    return lacking == 0 ? now : ready_at(full_at, now, left(full_at, now) + 1);
}

Nanos Bucket::delay(Nanos full_at, Nanos now, std::int64_t at_once) const noexcept {
    return at_once < burst_ ? std::max<Nanos>(missing(full_at, now) - at_once * token_, 0) : 0;
}

bool parse_burst(std::string_view text, std::int64_t& burst) noexcept {
    return parse_digits(text, burst) && burst >= 1 && burst <= max_limit;
}

}  // namespace rate_limit
