#include "core/limit/bucket.h"

#include <algorithm>

#include "core/digits.h"

namespace rate_limit {

namespace {

constexpr Nanos nanos_in_second = 1'000'000'000;

Nanos divide_up(Nanos a, Nanos b) noexcept {
    return a / b + (a % b > 0 ? 1 : 0);
}

}  // namespace

std::optional<Bucket> Bucket::of(const Rate& rate, std::int64_t burst) noexcept {
    const Nanos token = divide_up(rate.period * nanos_in_second, rate.limit);
    if (burst > max_fill / token) {
        return std::nullopt;
    }
    return Bucket(burst, token);
}

std::int64_t Bucket::fill_seconds() const noexcept {
    return divide_up(fill(), nanos_in_second);
}

/// What it takes until it is full.
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
    const Nanos after = missing(full_at, now) + std::min(cost, burst_) * token_;
    full_at = now + std::min(after, fill());
}

void Bucket::give_back(Nanos& full_at, Nanos now, std::int64_t cost) const noexcept {
    const Nanos after = missing(full_at, now) - std::min(cost, burst_) * token_;
    full_at = now + std::max<Nanos>(after, 0);
}

Nanos Bucket::ready_at(Nanos full_at, Nanos now, std::int64_t cost) const noexcept {
    const Nanos room = fill() - cost * token_;
    return now + std::max<Nanos>(missing(full_at, now) - room, 0);
}

Nanos Bucket::more_at(Nanos full_at, Nanos now) const noexcept {
    const Nanos lacking = missing(full_at, now);
    return lacking == 0 ? now : ready_at(full_at, now, left(full_at, now) + 1);
}

bool parse_burst(std::string_view text, std::int64_t& burst) noexcept {
    return parse_digits(text, burst) && burst >= 1 && burst <= max_limit;
}

}  // namespace rate_limit
