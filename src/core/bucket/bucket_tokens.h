#pragma once

#include <cstdint>

#include "core/limit/bucket.h"
#include "core/limit/window.h"
#include "core/machine/records/bucket_record.h"

namespace rate_limit {

/// Tokens of a bucket in Redis that this machine has taken in advance: a lease. Together all machines admit
/// no more than burst + rate * T in any time T, however many tokens any of them has at hand, by three rules.
///
/// 1. Tokens are spent within `life` of their grant, or not at all.
/// 2. Redis is asked with a burst that is smaller by what is refilled in that life.
/// 3. What was not spent goes back less what was refilled since its grant (see worth()): otherwise a machine
///    could exchange old tokens for new ones for ever, while the bucket fills up beside them.
///
/// For let L be what the bucket in Redis has, C its smaller burst, and F(a) the tokens at hand everywhere
/// that were granted within the last `a`. Then L + F(a) <= C + rate * a, at any time and for every `a`. Time,
/// grants and spending keep that. So does giving back O tokens of the age b as O - rate * b: for a < b,
/// L + O + F(a) <= L + F(b) <= C + rate * b. So in any T at most L + F(life) + rate * T are spent, which is
/// burst + rate * T.

/// How a limit leases tokens of its bucket.
struct BucketLease {
    /// After so long unspent tokens die. 0: none are taken in advance, as the bucket refills too few in a
    /// twentieth of the time that it takes to fill, in which they would have to be spent.
    Millis life = 0;

    /// Tokens of the burst that Redis is not asked for. Also where none are taken in advance, unless they are
    /// fewer than two: other limits may have tokens at hand of the same bucket.
    std::int64_t kept = 0;
};

BucketLease lease_of(const Bucket& bucket) noexcept;

/// Under which terms a worker handles a bucket's tokens.
struct TokenTerms {
    Nanos token = 1;  ///< to refill one
    Millis life = 0;
    Ticks now = 0;
    std::uint32_t mark = 0;  ///< mark_of() the bucket as the limit sees it
    Millis answer = 0;       ///< the time that the primary takes to answer, rounded up; 0: it is not known
};

/// The terms of a limit whose bucket refills a token in `token`, and fills in `fill`.
inline TokenTerms terms_of_tokens(Nanos token, Nanos fill, Millis life, Ticks now) noexcept {
    return {token, life, now, mark_of(token, fill)};
}

/// Whether tokens are at hand that were taken under other terms. Only limits of those terms spend them and
/// give them back; until they are gone, no other limit's tokens are kept. Ten seconds after their death they
/// count as forgotten: no worker will give them back.
bool are_others(const BucketRecord& record, const TokenTerms& terms) noexcept;

/// Takes out forgotten tokens of other terms, to make room. Returns how many: the caller counts them as lost.
std::int64_t take_forgotten(BucketRecord& record, const TokenTerms& terms) noexcept;

/// When tokens die that were asked for at `asked`: some milliseconds before the life ends that began with
/// their grant, for a request that is let in on its way.
Ticks end_of(Ticks asked, Millis life) noexcept;

/// Whether tokens that die at `end` can still be spent.
bool are_alive(Ticks end, Ticks now) noexcept;

/// The earlier of two instants that are less than three weeks apart.
Ticks earlier(Ticks a, Ticks b) noexcept;

/// The tokens at hand that can still be spent: by anybody, or under these terms.
std::int64_t alive(const BucketRecord& record, Ticks now) noexcept;
std::int64_t alive(const BucketRecord& record, const TokenTerms& terms) noexcept;

/// When the oldest of those at hand die that can still be spent. Nothing is said where there are none.
Ticks first_end(const BucketRecord& record, Ticks now) noexcept;

/// When the last of those at hand die.
Ticks last_end(const BucketRecord& record) noexcept;

/// Spends this many, the oldest first. False, and none are spent, if there are fewer.
bool spend(BucketRecord& record, const TokenTerms& terms, std::int64_t cost) noexcept;

/// True if the caller should begin a batch before the tokens are needed: those at hand and on their way last
/// less than twice the time that the primary takes to answer, at the speed at which batches are spent. Where
/// tokens live too short for that, they are asked for so early that half of their life is left in which they
/// can be spent when they are needed.
bool may_fetch_ahead(const BucketRecord& record, const TokenTerms& terms) noexcept;

/// A worker fetches; `ahead`: before the tokens are needed. Returns how large a batch is, at least 1: as many
/// as requests here spend in half of the life that is left when it comes, or a bit more. 0: a batch is on its
/// way, or of those `ahead` as many as may be.
std::int64_t begin_batch(BucketRecord& record, const TokenTerms& terms, bool ahead = false) noexcept;

/// How many a worker asks for while a batch is on its way that is another worker's, or spoken for: an eighth
/// of a batch, or of the first one, whichever is larger. So not each request that waits has to ask for
/// itself.
std::int64_t size_beside(const BucketRecord& record, const TokenTerms& terms) noexcept;

/// The batch that was begun at `asked` was answered, or never will be. Does nothing after a life, in which it
/// counts as lost.
void end_batch(BucketRecord& record, Ticks asked, const TokenTerms& terms) noexcept;

/// Tokens that can, or should, not be spent any more, all as old as those that die at `end`.
struct Dying {
    std::int64_t tokens = 0;
    Ticks end = 0;
};

/// When tokens die that a request gets of a batch, which dies at `end`, and of those at hand before it is
/// kept: it may put all of them back, so that they count as old as the oldest.
Ticks oldest_end(const BucketRecord& record, const TokenTerms& terms, Ticks end) noexcept;

/// A batch that was fetched: tokens that die at `end`. Of them and those at hand, `served` went to requests.
struct Batch {
    std::int64_t granted = 0;
    Ticks end = 0;
    std::int64_t served = 0;
};

/// Keeps what is left; take_forgotten() comes before. Requests have spent the oldest tokens first. Those of
/// two ages are kept; of three, two die together. What is dead is returned; and all, if the batch has come
/// too late, or tokens of other terms are at hand.
Dying keep_batch(BucketRecord& record, const TokenTerms& terms, const Batch& batch) noexcept;

/// A request does not spend its tokens after all. False: they cannot be kept here.
bool put_back(BucketRecord& record, const TokenTerms& terms, const Dying& tokens) noexcept;

/// Takes out tokens that are dead, or `all`: as old as the oldest of them.
Dying take_dying(BucketRecord& record, const TokenTerms& terms, bool all) noexcept;

/// Nanoseconds of refilling that tokens given back now are worth: less what was refilled since their grant.
Nanos worth(const Dying& tokens, const TokenTerms& terms) noexcept;

}  // namespace rate_limit
