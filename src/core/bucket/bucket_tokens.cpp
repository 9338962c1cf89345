#include "core/bucket/bucket_tokens.h"

#include <algorithm>
#include <cmath>

#include "core/limit/clocks.h"

namespace rate_limit {

namespace {

constexpr Millis longest_life = 1000;
constexpr Millis shortest_life = 20;  // some turns of an event loop, and round trips
constexpr int lives_in_fill = 20;
constexpr std::int64_t fewest = 2;  // tokens that are refilled in a life

/// Milliseconds that a request may be on its way from here until it passes, and that nginx's clock, which may
/// be the system's coarse one, may be behind.
constexpr Millis slack = 5;

/// Milliseconds that a refund may take to Redis, in which the bucket is refilled further.
constexpr Millis on_its_way = 20;

/// Milliseconds after their death: who has tokens still at hand will not give them back.
constexpr Ticks forgotten = 10'000;

constexpr double batch_growth = 1.5;
constexpr double first_part = 16;  // the first batch is this part of what is refilled in a life
constexpr double part_beside = 8;  // tokens asked for beside a batch are this part of it

Ticks ticks_of(Millis time) noexcept {
    return static_cast<Ticks>(time);
}

std::int64_t refilled_in(Millis time, Nanos token) noexcept {
    return nanos_of(time) / token + (nanos_of(time) % token != 0 ? 1 : 0);
}

/// How large a batch of the record's pace is. Never more than is refilled in a life: so a machine that has
/// all requests of a client fetches often enough, and others find something.
double size_of(const BucketRecord& record, const TokenTerms& terms) noexcept {
    const auto most = static_cast<double>(std::max<std::int64_t>(1, refilled_in(terms.life, terms.token)));
    const int steps = static_cast<int>(record.pace) - static_cast<int>(start_pace);
    return std::min(most, std::max(1.0, most / first_part) * std::pow(batch_growth, steps));
}

/// Milliseconds until they die; 0 if they have.
Millis rest_of(Ticks end, Ticks now) noexcept {
    const auto left = static_cast<std::int32_t>(end - now);
    return left > 0 && left <= longest_life + slack ? left : 0;
}

/// How old tokens are at most. Those that a clock has forgotten are older than any.
Millis age_of(Ticks end, const TokenTerms& terms) noexcept {
    const auto left = static_cast<std::int32_t>(end - terms.now);
    return left <= terms.life ? terms.life - slack - static_cast<Millis>(left) : max_fill / nanos_in_milli;
}

/// So many were not spent in time: the next batches are smaller.
void shrink(BucketRecord& record, const TokenTerms& terms, std::int64_t unspent) noexcept {
    const double size = std::ceil(size_of(record, terms));
    const double spent = std::max(1.0, size - static_cast<double>(unspent));
    if (static_cast<double>(unspent) * 8 < size) {
        return;
    }
    while (record.pace > 0 && size_of(record, terms) > spent) {
        record.pace = record.pace - 1;
    }
}

/// A batch that did not last half of the life that was left when it came was too small; of fewer than four
/// tokens a quarter, as so few say little of the speed.
bool was_used_up_quickly(const BucketRecord& record, const TokenTerms& terms, double size) noexcept {
    const Millis rest = rest_of(record.batch().end, terms.now);
    const Millis lasted = since(record.batch().turn, terms.now);
    return rest > (size < 4 ? 3 * lasted : lasted);
}

void set_times(BucketRecord& record, const BatchTimes& times) noexcept {
    record.times = times;
    record.counts = false;
}

void hold(BucketRecord& record, std::int64_t tokens, Ticks end, std::uint32_t mark) noexcept {
    record.leased = static_cast<std::uint64_t>(std::min(tokens, max_leased));
    record.mark = mark;
    set_times(record, {end, record.batch().turn});
}

}  // namespace

BucketLease lease_of(const Bucket& bucket) noexcept {
    const Millis life = std::min(longest_life, bucket.fill() / nanos_in_milli / lives_in_fill);
    const std::int64_t whole = nanos_of(life) / bucket.token();
    if (life < shortest_life || whole < fewest) {
        return {0, whole < fewest ? 0 : whole};
    }
    return {life, refilled_in(life, bucket.token())};
}

Ticks end_of(Ticks asked, Millis life) noexcept {
    return asked + ticks_of(life - slack);
}

bool are_alive(Ticks end, Ticks now) noexcept {
    return rest_of(end, now) != 0;
}

Ticks earlier(Ticks a, Ticks b) noexcept {
    return static_cast<std::int32_t>(a - b) < 0 ? a : b;
}

bool are_others(const BucketRecord& record, const TokenTerms& terms) noexcept {
    return at_hand(record) != 0 && record.mark != terms.mark &&
           (are_alive(record.batch().end, terms.now) || terms.now - record.batch().end < forgotten);
}

std::int64_t take_forgotten(BucketRecord& record, const TokenTerms& terms) noexcept {
    if (record.mark == terms.mark || are_others(record, terms)) {
        return 0;
    }
    const std::int64_t tokens = at_hand(record);
    record.leased = 0;
    return tokens;
}

std::int64_t alive(const BucketRecord& record, Ticks now) noexcept {
    return are_alive(record.batch().end, now) ? at_hand(record) : 0;
}

std::int64_t alive(const BucketRecord& record, const TokenTerms& terms) noexcept {
    return record.mark == terms.mark ? alive(record, terms.now) : 0;
}

bool spend(BucketRecord& record, const TokenTerms& terms, std::int64_t cost) noexcept {
    if (alive(record, terms) < cost) {
        return false;
    }
    record.leased = static_cast<std::uint64_t>(at_hand(record) - cost);
    return true;
}

std::int64_t begin_batch(BucketRecord& record, const TokenTerms& terms) noexcept {
    if (record.fetching && since(record.batch().turn, terms.now) < terms.life) {
        return 0;
    }
    const double size = size_of(record, terms);
    if (record.pace < max_pace && size < size_of(BucketRecord{}, terms) * first_part &&
        was_used_up_quickly(record, terms, size)) {
        record.pace = record.pace + 1;
    }
    record.fetching = true;
    set_times(record, {record.batch().end, terms.now});
    return static_cast<std::int64_t>(std::ceil(size_of(record, terms)));
}

std::int64_t size_beside(const BucketRecord& record, const TokenTerms& terms) noexcept {
    const double size = std::max(size_of(record, terms), size_of(BucketRecord{}, terms));
    return static_cast<std::int64_t>(std::ceil(size / part_beside));
}

void end_batch(BucketRecord& record, Ticks asked, Ticks now) noexcept {
    if (record.fetching && record.times.turn == asked) {
        record.fetching = false;
        record.times.turn = now;
    }
}

Ticks oldest_end(const BucketRecord& record, const TokenTerms& terms, Ticks end) noexcept {
    return alive(record, terms) != 0 ? earlier(record.batch().end, end) : end;
}

Dying keep_batch(BucketRecord& record, const TokenTerms& terms, const Batch& batch) noexcept {
    if (are_others(record, terms)) {
        return {std::max<std::int64_t>(0, batch.granted - batch.served), batch.end};
    }
    const Ticks old_end = record.batch().end;
    const std::int64_t usable = alive(record, terms.now);
    const std::int64_t old = usable - std::min(usable, batch.served);
    const std::int64_t from_new = batch.served - (usable - old);
    const std::int64_t fresh = std::max<std::int64_t>(0, batch.granted - from_new);
    Dying dying{at_hand(record) - usable, old_end};
    if (!are_alive(batch.end, terms.now)) {
        hold(record, old, old_end, terms.mark);
        return {dying.tokens + fresh, dying.tokens != 0 ? earlier(old_end, batch.end) : batch.end};
    }
    const Millis rest = rest_of(old_end, terms.now);
    const bool keeps_old = old != 0 && (fresh == 0 || rest * 2 >= terms.life);
    if (old != 0 && !keeps_old) {
        dying.tokens += old;  // there are none that are dead
    }
    if (dying.tokens != 0) {
        shrink(record, terms, dying.tokens);
    }
    if (keeps_old) {
        hold(record, old + fresh, fresh == 0 ? old_end : earlier(old_end, batch.end), terms.mark);
    } else {
        hold(record, fresh, batch.end, terms.mark);
    }
    return dying;
}

bool put_back(BucketRecord& record, const TokenTerms& terms, const Dying& tokens) noexcept {
    const bool older = at_hand(record) != 0 && earlier(tokens.end, record.batch().end) != record.batch().end;
    const bool not_here =
        at_hand(record) != 0 && (record.mark != terms.mark || !are_alive(record.batch().end, terms.now));
    if (!are_alive(tokens.end, terms.now) || older || not_here) {
        return false;
    }
    hold(record, at_hand(record) + tokens.tokens, at_hand(record) != 0 ? record.batch().end : tokens.end,
         terms.mark);
    return true;
}

Dying take_dying(BucketRecord& record, const TokenTerms& terms, bool all) noexcept {
    const bool dead = !are_alive(record.batch().end, terms.now);
    if (at_hand(record) == 0 || record.mark != terms.mark || !(dead || all)) {
        return {};
    }
    const Dying dying{at_hand(record), record.batch().end};
    if (dead) {
        shrink(record, terms, dying.tokens);
    }
    record.leased = 0;
    return dying;
}

Nanos worth(const Dying& tokens, const TokenTerms& terms) noexcept {
    const Millis age = age_of(tokens.end, terms) + on_its_way;
    const std::int64_t refilled = refilled_in(std::min(age, max_fill / nanos_in_milli), terms.token);
    return tokens.tokens > refilled ? (tokens.tokens - refilled) * terms.token : 0;
}

}  // namespace rate_limit
