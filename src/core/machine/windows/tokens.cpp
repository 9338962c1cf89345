#include "core/machine/windows/tokens.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/limit/clocks.h"

namespace rate_limit {

namespace {

constexpr Millis kept_intervals = 3;   // tokens that are spent in this time are kept
constexpr Millis first_intervals = 4;  // the first batch is no more than is spent in this time
constexpr std::int64_t few_first = 4;  // tokens of the first batch where the limit is small
constexpr std::int64_t few = 7;        // so many are kept for that time after their grant

/// A key that was not asked for in this time is cold; one with batches in twice this time, in which these are
/// spent.
constexpr Millis cold_after = 15'000;

/// After this part of a period the primary's last word says little of what is left.
constexpr int known_for = 8;

constexpr double growth = 1.5;
constexpr std::uint32_t steps_up = 2;    // to more than twice as much
constexpr std::uint32_t steps_down = 2;  // the fewest: to less than half

/// A batch of this pace and the one below is what a request costs; the upper one is after a request that
/// followed another.
constexpr std::uint32_t single_pace = 1;

/// How large a batch of each pace is, compared with that of start_pace.
constexpr std::array<double, max_pace + 1> paces() noexcept {
    std::array<double, max_pace + 1> factors{};
    factors[start_pace] = 1;
    for (std::uint32_t i = start_pace; i < max_pace; ++i) {
        factors[i + 1] = factors[i] * growth;
    }
    for (std::uint32_t i = start_pace; i > 0; --i) {
        factors[i - 1] = factors[i] / growth;
    }
    return factors;
}

constexpr auto factors = paces();

/// Adds tokens to those at hand, but not more than `used`: Redis counts all tokens that it granted in `used`,
/// so any beyond that are lost.
void add_tokens(WindowRecord& record, std::int64_t tokens) noexcept {
    const std::int64_t most = std::min(max_leased, record.used);
    record.leased = static_cast<std::uint64_t>(std::min(most, at_hand(record) + tokens));
}

/// How large a batch of this pace is if nothing bounds it.
double wanted(std::uint32_t pace, std::int64_t limit) noexcept {
    return pace <= single_pace ? 1 : std::max(1.0, static_cast<double>(limit) / 1000) * factors[pace];
}

double wanted(const WindowRecord& record, std::int64_t limit) noexcept {
    return wanted(record.pace, limit);
}

/// The bound of a batch: see batch_size().
double largest_batch(const WindowRecord& record, const Terms& terms) noexcept {
    const bool open = is_open(record, terms.rate.period, terms.now);
    const auto limit = static_cast<double>(terms.rate.limit);
    const double left = limit - (open ? static_cast<double>(record.used) : 0);
    const double bound = std::min(limit / 20, left / parts_of_rest);
    const auto interval = static_cast<double>(lease_interval(terms.rate.period));
    const auto ends_in = static_cast<double>(record.reset - terms.now);
    return open && ends_in < interval ? std::min(bound, wanted(record, terms.rate.limit) * ends_in / interval)
                                      : bound;
}

/// Whether less than an eighth of a batch of this size is at hand.
bool is_low(const WindowRecord& record, std::int64_t size) noexcept {
    return at_hand(record) < size / 8;
}

/// Whether the tokens at hand last less than twice the time that the primary takes to answer. The first one
/// that was spent of a batch says nothing of the speed.
bool runs_out(const WindowRecord& record, std::int64_t size, Millis now, Millis answer) noexcept {
    const std::int64_t spent = size - at_hand(record) - 1;
    const auto asked_ago = static_cast<double>(since(record.changed, now) + answer);
    return spent > 0 && static_cast<double>(at_hand(record)) * asked_ago <
                            static_cast<double>(2 * answer) * static_cast<double>(spent);
}

Millis elapsed(const Look& look) noexcept {
    return std::max<Millis>(1, look.now - look.since);
}

/// How many tokens requests will spend in this time if they go on at the speed since the last look.
double needed_in(Millis time, const WindowRecord& record, const Look& look) noexcept {
    const std::int64_t spent = std::max<std::int64_t>(0, look.before - at_hand(record));
    return std::ceil(static_cast<double>(spent) * static_cast<double>(std::max<Millis>(0, time)) /
                     static_cast<double>(elapsed(look)));
}

/// The tokens at hand that are not needed, if they are at least half of them; else 0, as fewer are not worth
/// a call to Redis.
std::int64_t worth_refunding(const WindowRecord& record, double needed) noexcept {
    const std::int64_t all = at_hand(record);
    return needed * 2 > static_cast<double>(all) ? 0 : all - static_cast<std::int64_t>(needed);
}

/// Whether the last grant is long enough ago to tell that its tokens are not needed. Requests cannot have
/// spent tokens yet that were granted a moment before the look.
bool have_rested(const WindowRecord& record, const Look& look) noexcept {
    const Millis granted_ago = static_cast<std::uint32_t>(look.now) - record.changed;
    return granted_ago * 2 >= std::min(elapsed(look), lease_interval(look.period));
}

/// Makes batches so small that one lasts three intervals. Not if the last look was less than an interval ago,
/// as it is towards the window's end: that is too short to tell the speed.
void shrink(WindowRecord& record, const Look& look) noexcept {
    const Millis interval = lease_interval(look.period);
    const double needed = needed_in(kept_intervals * interval, record, look);
    if (look.fixed || look.now - look.since < interval || worth_refunding(record, needed) == 0) {
        return;
    }
    const auto limit = static_cast<std::int64_t>(record.limit);
    const auto too_large = [&](std::uint32_t steps) {
        return steps < steps_down || (needed > 0 && wanted(record, limit) > needed);
    };
    for (std::uint32_t steps = 0; wanted(record, limit) > 1 && too_large(steps); ++steps) {
        record.pace = record.pace - 1;
    }
    record.pace = wanted(record, limit) > 1 ? record.pace : 0;
}

/// A few tokens that were granted of late, of which none was spent since the last look: the next requests
/// will want them, and to give them back costs as much as they save.
bool are_few_and_young(const WindowRecord& record, const Look& look) noexcept {
    return !look.fixed && at_hand(record) <= few &&
           since(record.changed, look.now) < kept_intervals * lease_interval(look.period);
}

}  // namespace

Millis lease_interval(std::int64_t period) noexcept {
    return std::min<Millis>(5000, period * 1000 / 20);
}

std::int64_t batch_size(const WindowRecord& record, const Terms& terms) noexcept {
    const double size = std::min(std::ceil(wanted(record, terms.rate.limit)), largest_batch(record, terms));
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

bool may_fetch_ahead(const WindowRecord& record, const Terms& terms, Millis answer) noexcept {
    if (record.fetching) {
        return false;
    }
    const std::int64_t size = batch_size(record, terms);
    return is_low(record, size) || runs_out(record, size, terms.now, answer);
}

std::uint32_t next_pace(std::uint32_t pace, Millis ago, const Rate& rate) noexcept {
    const Millis interval = lease_interval(rate.period);
    if (ago >= interval) {
        return pace;
    }
    if (pace > single_pace) {
        return std::min(max_pace, pace + steps_up);
    }
    if (pace < single_pace && ago >= interval / 8) {
        return single_pace;
    }
    const Millis spent = first_intervals * interval / std::max<Millis>(1, ago);
    const auto most =
        static_cast<double>(std::min(spent, std::max<std::int64_t>(few_first, rate.limit / 1000)));
    std::uint32_t first = single_pace + 1;
    while (first < max_pace && wanted(first + 1, rate.limit) <= most) {
        ++first;
    }
    return first;
}

std::int64_t begin_fetch(WindowRecord& record, const Terms& terms, std::uint32_t pace) noexcept {
    const bool open = is_open(record, terms.rate.period, terms.now);
    const Millis ago = since(record.asked_or_told, terms.now);
    if (ago >= (record.pace > single_pace ? 2 * cold_after : cold_after)) {
        record.pace = 0;
    } else if (open && record.confirmed && wanted(record, terms.rate.limit) < largest_batch(record, terms)) {
        record.pace = next_pace(record.pace, ago, terms.rate);
    }
    record.pace = open ? record.pace : std::max<std::uint32_t>(record.pace, pace);
    record.asked_or_told = static_cast<std::uint32_t>(terms.now);
    record.answered = false;
    record.fetching = open;
    const std::int64_t size = batch_size(record, terms);
    return size - (open && is_low(record, size) ? at_hand(record) : 0);
}

bool reserve_alone(WindowRecord& record, const Terms& terms, std::int64_t cost) noexcept {
    WindowRecord asked = record;
    const Millis ago = since(record.asked_or_told, terms.now);
    if (!is_open(record, terms.rate.period, terms.now) || ago > terms.rate.period * 1000 / known_for ||
        begin_fetch(asked, terms) > cost) {
        return false;
    }
    asked.fetching = record.fetching;
    record = asked;
    return true;
}

void end_fetch(WindowRecord& record) noexcept {
    record.fetching = false;
}

bool grant(WindowRecord& record, const Terms& terms, const Window& answer, std::int64_t tokens,
           const Question& question) noexcept {
    end_fetch(record);
    replace(record, terms, answer, question);
    record.asked_or_told = static_cast<std::uint32_t>(terms.now);
    record.events = record.events + 1;  // an answer to an earlier question may be older than this one
    if (!is_open(record, terms.rate.period, terms.now) || record.reset != answer.reset) {
        return false;
    }
    if (tokens != 0) {
        record.changed = static_cast<std::uint32_t>(terms.now);
    }
    add_tokens(record, tokens);
    return true;
}

bool give_back(WindowRecord& record, Millis reset, std::int64_t period, Millis now,
               std::int64_t tokens) noexcept {
    if (record.reset != reset || !record.confirmed || !is_open(record, period, now)) {
        return false;
    }
    add_tokens(record, tokens);
    return true;
}

std::int64_t surplus(const WindowRecord& record, const Look& look) noexcept {
    const Millis ends_in = record.reset - look.now;
    const Millis kept_for =
        look.fixed ? ends_in : std::min(ends_in, kept_intervals * lease_interval(look.period));
    if (look.before <= at_hand(record) && (!have_rested(record, look) || are_few_and_young(record, look))) {
        return 0;
    }
    return worth_refunding(record, needed_in(kept_for, record, look));
}

std::int64_t take_surplus(WindowRecord& record, const Look& look) noexcept {
    const std::int64_t tokens = surplus(record, look);
    if (tokens != 0) {
        shrink(record, look);
    }
    record.leased = static_cast<std::uint64_t>(at_hand(record) - tokens);
    return tokens;
}

}  // namespace rate_limit
