#include "core/lease.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace rate_limit {

namespace {

constexpr double growth = 1.5;
constexpr std::uint32_t shrinking = 2;  // steps: 1 / 2.25

/// What a batch of each pace is of the first one.
constexpr std::array<double, WindowRecord::max_pace + 1> paces() noexcept {
    std::array<double, WindowRecord::max_pace + 1> factors{};
    factors[WindowRecord::start_pace] = 1;
    for (std::uint32_t i = WindowRecord::start_pace; i < WindowRecord::max_pace; ++i) {
        factors[i + 1] = factors[i] * growth;
    }
    for (std::uint32_t i = WindowRecord::start_pace; i > 0; --i) {
        factors[i - 1] = factors[i] / growth;
    }
    return factors;
}

constexpr auto factors = paces();

std::int64_t at_hand(const WindowRecord& record) noexcept {
    return static_cast<std::int64_t>(record.leased);
}

/// How large a batch of this pace would be if nothing bounded it.
double wanted(const WindowRecord& record, const Terms& terms) noexcept {
    return std::max(1.0, static_cast<double>(terms.rate.limit) / 1000) * factors[record.pace];
}

double most(const WindowRecord& record, const Terms& terms) noexcept {
    const bool open = is_open(record, terms.rate.period, terms.now);
    const auto limit = static_cast<double>(terms.rate.limit);
    const double left = limit - (open ? static_cast<double>(record.used) : 0);
    const double bound = std::min(limit / 20, left / 4);
    const auto interval = static_cast<double>(lease_interval(terms.rate.period));
    const auto ends_in = static_cast<double>(record.reset - terms.now);
    return open && ends_in < interval ? std::min(bound, wanted(record, terms) * ends_in / interval) : bound;
}

}  // namespace

Millis lease_interval(std::int64_t period) noexcept {
    return std::min<Millis>(5000, period * 1000 / 20);
}

std::int64_t batch_size(const WindowRecord& record, const Terms& terms) noexcept {
    const double size = std::min(std::ceil(wanted(record, terms)), most(record, terms));
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(size));
}

bool consume(WindowRecord& record, const Terms& terms, std::int64_t cost) noexcept {
    if (!is_open(record, terms.rate.period, terms.now) || at_hand(record) < cost ||
        taken(record) > terms.rate.limit - cost) {
        return false;
    }
    record.leased = static_cast<std::uint64_t>(at_hand(record) - cost);
    return true;
}

bool may_fetch_ahead(const WindowRecord& record, const Terms& terms) noexcept {
    return !record.fetching && record.used < terms.rate.limit &&
           at_hand(record) < batch_size(record, terms) / 4;
}

std::int64_t begin_fetch(WindowRecord& record, const Terms& terms) noexcept {
    const bool open = is_open(record, terms.rate.period, terms.now);
    const auto lasted = static_cast<std::uint32_t>(terms.now) - record.asked;
    if (open && record.confirmed && record.pace < WindowRecord::max_pace &&
        lasted < static_cast<std::uint32_t>(lease_interval(terms.rate.period)) &&
        wanted(record, terms) < most(record, terms)) {
        record.pace = record.pace + 1;
    }
    record.fetching = open;
    return batch_size(record, terms);
}

void end_fetch(WindowRecord& record) noexcept {
    record.fetching = false;
}

bool grant(WindowRecord& record, const Terms& terms, const Window& answer, std::int64_t tokens,
           const Question& question) noexcept {
    end_fetch(record);
    replace(record, terms, answer, question);
    record.asked = static_cast<std::uint32_t>(terms.now);
    record.events = record.events + 1;  // an answer to what was asked before is older
    if (!is_open(record, terms.rate.period, terms.now) || record.reset != answer.reset) {
        return false;
    }
    record.leased = static_cast<std::uint64_t>(std::min(WindowRecord::max_leased, at_hand(record) + tokens));
    return true;
}

bool put_back(WindowRecord& record, Millis reset, std::int64_t period, Millis now,
              std::int64_t tokens) noexcept {
    if (record.reset != reset || !record.confirmed || !is_open(record, period, now)) {
        return false;
    }
    record.leased = static_cast<std::uint64_t>(std::min(WindowRecord::max_leased, at_hand(record) + tokens));
    return true;
}

std::int64_t surplus(const WindowRecord& record, const Look& look) noexcept {
    const std::int64_t spent = std::max<std::int64_t>(0, look.before - at_hand(record));
    if (spent == 0) {
        return at_hand(record);
    }
    const Millis ends_in = record.reset - look.now;
    const Millis horizon = look.fixed ? ends_in : std::min(ends_in, 3 * lease_interval(look.period));
    const double needed = std::ceil(static_cast<double>(spent) * static_cast<double>(horizon) /
                                    static_cast<double>(look.now - look.since));
    return needed >= static_cast<double>(at_hand(record))
               ? 0
               : at_hand(record) - static_cast<std::int64_t>(needed);
}

std::int64_t take_surplus(WindowRecord& record, const Look& look) noexcept {
    const std::int64_t tokens = surplus(record, look);
    if (tokens * 2 >= at_hand(record) && tokens != 0 && !look.fixed) {
        record.pace = record.pace > shrinking ? record.pace - shrinking : 0;
    }
    record.leased = static_cast<std::uint64_t>(at_hand(record) - tokens);
    return tokens;
}

}  // namespace rate_limit
