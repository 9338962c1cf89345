#include "core/bucket/bucket_tokens.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

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

/// Milliseconds since the youngest batch was begun or, if none is on its way, the last one was answered.
Millis since_turn(const BucketRecord& record, Ticks now) noexcept {
    constexpr Ticks wrap = 1U << BatchTimes::turn_bits;
    const Ticks passed = (now - record.batch().turn) % wrap;
    return passed < wrap - clocks_apart ? passed : 0;  // another worker's clock is ahead
}

/// Those that were begun a life ago are lost.
std::uint64_t on_their_way(const BucketRecord& record, const TokenTerms& terms) noexcept {
    return since_turn(record, terms.now) < terms.life ? record.fetching : 0;
}

/// Half of the life that is left when a batch comes: in this time it is to be spent.
Millis to_last(const TokenTerms& terms) noexcept {
    return std::max<Millis>(1, (terms.life - slack - terms.answer) / 2);
}

/// The tokens that are to be at hand and on their way: what is spent in twice the time of an answer, or in
/// that time and the one in which a batch is to be spent.
double enough(const BucketRecord& record, const TokenTerms& terms) noexcept {
    const Millis ahead = terms.answer + std::min(terms.answer, to_last(terms));
    return std::ceil(size_of(record, terms)) * static_cast<double>(ahead) /
           static_cast<double>(to_last(terms));
}

/// How many there are.
double there(const BucketRecord& record, const TokenTerms& terms) noexcept {
    return static_cast<double>(alive(record, terms)) +
           static_cast<double>(on_their_way(record, terms)) * std::ceil(size_of(record, terms));
}

/// So many were not spent in time: the next batches are smaller. Where others are on their way only by one
/// step, for these tell more; and not while more are there than are begun ahead, as after the last step.
void shrink(BucketRecord& record, const TokenTerms& terms, std::int64_t unspent) noexcept {
    const double size = std::ceil(size_of(record, terms));
    const double spent = std::max(1.0, size - static_cast<double>(unspent));
    const bool reserve = on_their_way(record, terms) != 0;
    if (static_cast<double>(unspent) * (reserve ? 2 : 8) < size || record.pace == 0 ||
        size_of(record, terms) <= spent || (reserve && there(record, terms) > enough(record, terms) + size)) {
        return;
    }
    do {
        record.pace = record.pace - 1;
    } while (record.pace > 0 && size_of(record, terms) > spent && !reserve);
}

/// A batch that did not last half of the life that was left when it came was too small; of fewer than four
/// tokens a quarter, as so few say little of the speed. Where others are on their way, so was the youngest if
/// half of it is spoken for, or none is at hand, before half of the time has passed in which it is to be
/// spent.
bool was_used_up_quickly(const BucketRecord& record, const TokenTerms& terms, double size) noexcept {
    const Millis lasted = since_turn(record, terms.now);
    if (on_their_way(record, terms) != 0) {
        return alive(record, terms) == 0 && lasted * 2 < to_last(terms);
    }
    return rest_of(last_end(record), terms.now) > (size < 4 ? 3 * lasted : lasted);
}

void set_times(BucketRecord& record, const BatchTimes& times) noexcept {
    record.stored_or_younger = static_cast<std::uint64_t>(younger(record));
    record.times = times;
    record.counts = false;
}

void set_turn(BucketRecord& record, Ticks now) noexcept {
    BatchTimes times = record.batch();
    times.turn = now % (1U << BatchTimes::turn_bits);
    set_times(record, times);
}

/// Tokens that die together.
struct TokenGroup {
    std::int64_t tokens = 0;
    Ticks end = 0;
};

/// The second ones die later, if there are any.
void hold(BucketRecord& record, const TokenGroup& first, const TokenGroup& second) noexcept {
    const bool both = first.tokens != 0 && second.tokens != 0;
    const Ticks end = first.tokens != 0 ? first.end : second.end;
    record.leased = static_cast<std::uint64_t>(std::min(first.tokens + second.tokens, max_leased));
    set_times(record, {end, record.batch().turn, both ? second.end - end : 0});
    record.stored_or_younger = both ? static_cast<std::uint64_t>(second.tokens) : 0;
}

TokenGroup older_of(const BucketRecord& record) noexcept {
    return {at_hand(record) - younger(record), record.batch().end};
}

TokenGroup younger_of(const BucketRecord& record) noexcept {
    return {younger(record), last_end(record)};
}

std::int64_t alive(const TokenGroup& group, Ticks now) noexcept {
    return are_alive(group.end, now) ? group.tokens : 0;
}

bool is_earlier(Ticks a, Ticks b) noexcept {
    return static_cast<std::int32_t>(a - b) < 0;
}

/// The part of their life that these tokens lose if they die with the older ones, summed up.
double lost_with(const TokenGroup& older, const TokenGroup& group, Ticks now) noexcept {
    return static_cast<double>(group.tokens) * (group.end - older.end) / std::max<Ticks>(1, group.end - now);
}

/// Those of two ages die together, with the older of them, so that the least is lost.
void join_two(std::array<TokenGroup, 3>& groups, Ticks now) noexcept {
    auto& [first, second, third] = groups;
    const bool first_two = lost_with(first, second, now) < lost_with(second, third, now);
    (first_two ? first : second).tokens += (first_two ? second : third).tokens;
    second = first_two ? third : second;
    third = {};
}

/// Keeps those of these groups, the oldest first, of which the record can tell two apart. Where the younger
/// ones are too many for that, all die together while half of a life is left to the older ones; else these
/// do.
void hold(BucketRecord& record, std::array<TokenGroup, 3> groups, const TokenTerms& terms,
          Dying& dying) noexcept {
    auto& [first, second, third] = groups;
    const Ticks last = third.end;
    if (first.tokens != 0 && second.tokens != 0 && third.tokens != 0) {
        join_two(groups, terms.now);
    }
    first = first.tokens != 0 ? first : std::exchange(second, {});
    second = second.tokens != 0 ? second : std::exchange(third, {});
    first = first.tokens != 0 ? first : std::exchange(second, {});
    if (second.tokens > BucketRecord::max_younger || second.end - first.end > BatchTimes::longest_after) {
        const bool joins = second.tokens == 0 || rest_of(first.end, terms.now) * 2 >= terms.life;
        if (joins) {
            first.tokens += std::exchange(second, {}).tokens;
        } else {
            dying = {dying.tokens + first.tokens,
                     dying.tokens != 0 ? earlier(dying.end, first.end) : first.end};
            first = std::exchange(second, {});
        }
    }
    hold(record, first, first.tokens != 0 ? second : TokenGroup{0, last});
    record.mark = terms.mark;
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

Ticks first_end(const BucketRecord& record, Ticks now) noexcept {
    return alive(older_of(record), now) != 0 ? record.batch().end : last_end(record);
}

Ticks last_end(const BucketRecord& record) noexcept {
    return record.batch().end + record.batch().after;
}

bool are_others(const BucketRecord& record, const TokenTerms& terms) noexcept {
    const Ticks end = last_end(record);
    return at_hand(record) != 0 && record.mark != terms.mark &&
           (are_alive(end, terms.now) || terms.now - end < forgotten);
}

std::int64_t take_forgotten(BucketRecord& record, const TokenTerms& terms) noexcept {
    if (record.mark == terms.mark || are_others(record, terms)) {
        return 0;
    }
    const std::int64_t tokens = at_hand(record);
    hold(record, TokenGroup{}, TokenGroup{0, last_end(record)});
    return tokens;
}

std::int64_t alive(const BucketRecord& record, Ticks now) noexcept {
    return alive(older_of(record), now) + alive(younger_of(record), now);
}

std::int64_t alive(const BucketRecord& record, const TokenTerms& terms) noexcept {
    return record.mark == terms.mark ? alive(record, terms.now) : 0;
}

bool spend(BucketRecord& record, const TokenTerms& terms, std::int64_t cost) noexcept {
    if (alive(record, terms) < cost) {
        return false;
    }
    TokenGroup older = older_of(record);
    TokenGroup young = younger_of(record);
    const std::int64_t from_older = std::min(cost, alive(older, terms.now));
    older.tokens -= from_older;
    young.tokens -= cost - from_older;
    hold(record, older, young);
    return true;
}

bool may_fetch_ahead(const BucketRecord& record, const TokenTerms& terms) noexcept {
    return std::ceil(size_of(record, terms)) > 1 && terms.answer < terms.life - slack &&
           on_their_way(record, terms) < BucketRecord::max_fetching && !are_others(record, terms) &&
           there(record, terms) < std::floor(enough(record, terms));
}

std::int64_t begin_batch(BucketRecord& record, const TokenTerms& terms, bool ahead) noexcept {
    const std::uint64_t under_way = on_their_way(record, terms);
    if (under_way >= (ahead ? BucketRecord::max_fetching : 1)) {
        return 0;
    }
    const double size = size_of(record, terms);
    if (record.pace < max_pace && size < size_of(BucketRecord{}, terms) * first_part &&
        was_used_up_quickly(record, terms, size)) {
        record.pace = record.pace + 1;
    }
    record.fetching = under_way + 1;
    set_turn(record, terms.now);
    return static_cast<std::int64_t>(std::ceil(size_of(record, terms)));
}

std::int64_t size_beside(const BucketRecord& record, const TokenTerms& terms) noexcept {
    const double size = std::max(size_of(record, terms), size_of(BucketRecord{}, terms));
    return static_cast<std::int64_t>(std::ceil(size / part_beside));
}

void end_batch(BucketRecord& record, Ticks asked, const TokenTerms& terms) noexcept {
    if (record.fetching == 0 || since(asked, terms.now) >= terms.life) {
        return;
    }
    record.fetching = record.fetching - 1;
    if (record.fetching == 0) {
        set_turn(record, terms.now);
    }
}

Ticks oldest_end(const BucketRecord& record, const TokenTerms& terms, Ticks end) noexcept {
    return alive(record, terms) != 0 ? earlier(first_end(record, terms.now), end) : end;
}

Dying keep_batch(BucketRecord& record, const TokenTerms& terms, const Batch& batch) noexcept {
    if (are_others(record, terms)) {
        return {std::max<std::int64_t>(0, batch.granted - batch.served), batch.end};
    }
    const TokenGroup older = older_of(record);
    const TokenGroup young = younger_of(record);
    std::array<TokenGroup, 3> groups{{{alive(older, terms.now), older.end},
                                      {alive(young, terms.now), young.end},
                                      {batch.granted, batch.end}}};
    Dying dying{at_hand(record) - alive(record, terms.now), older.end};
    std::int64_t served = batch.served;
    for (TokenGroup& group : groups) {
        const std::int64_t taken = std::min(group.tokens, served);
        group.tokens -= taken;
        served -= taken;
    }
    if (!are_alive(batch.end, terms.now)) {
        dying = {dying.tokens + groups[2].tokens,
                 dying.tokens != 0 ? earlier(dying.end, batch.end) : batch.end};
        groups[2].tokens = 0;
    } else if (dying.tokens != 0) {
        shrink(record, terms, dying.tokens);
    }
    for (std::size_t i = groups.size() - 1; i > 0 && is_earlier(groups[i].end, groups[i - 1].end); --i) {
        std::swap(groups[i], groups[i - 1]);  // a batch that was late
    }
    hold(record, groups, terms, dying);
    return dying;
}

bool put_back(BucketRecord& record, const TokenTerms& terms, const Dying& tokens) noexcept {
    if (!are_alive(tokens.end, terms.now)) {
        return false;
    }
    if (at_hand(record) == 0) {
        hold(record, TokenGroup{tokens.tokens, tokens.end}, TokenGroup{});
        record.mark = terms.mark;
        return true;
    }
    const bool dead = alive(record, terms) == 0;  // or others'
    if (dead || is_earlier(tokens.end, first_end(record, terms.now)) ||
        younger(record) + tokens.tokens > BucketRecord::max_younger) {
        return false;
    }
    TokenGroup older = older_of(record);
    TokenGroup young = younger_of(record);
    (alive(older, terms.now) != 0 ? older : young).tokens += tokens.tokens;
    hold(record, older, young);
    return true;
}

Dying take_dying(BucketRecord& record, const TokenTerms& terms, bool all) noexcept {
    const std::int64_t living = alive(record, terms.now);
    const std::int64_t taken = all ? at_hand(record) : at_hand(record) - living;
    if (record.mark != terms.mark || taken == 0) {
        return {};
    }
    const Dying dying{taken, record.batch().end};
    if (at_hand(record) != living) {
        shrink(record, terms, taken);
    }
    hold(record, TokenGroup{}, TokenGroup{living - (all ? living : 0), last_end(record)});
    return dying;
}

Nanos worth(const Dying& tokens, const TokenTerms& terms) noexcept {
    const Millis age = age_of(tokens.end, terms) + on_its_way;
    const std::int64_t refilled = refilled_in(std::min(age, max_fill / nanos_in_milli), terms.token);
    return tokens.tokens > refilled ? (tokens.tokens - refilled) * terms.token : 0;
}

}  // namespace rate_limit
