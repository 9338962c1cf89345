#include <algorithm>

#include "core/bucket/bucket_account.h"
#include "core/free_list.h"
#include "limiter/charges/charges.h"
#include "limiter/charges/nodes.h"
#include "limiter/leases/fetches.h"
#include "limiter/zone.h"

namespace rate_limit {

/// Decides how many tokens of a bucket to ask for. `batched`: more may be asked for than the request needs,
/// and this fetch is the one in which others take seats.
void Fetches::size_up(Fetch& fetch, bool batched) noexcept {
    const Demand& demand = fetch.demand;
    const Millis now = now_millis();
    const std::int64_t least = demand.want;
    const TokenTerms terms = fetch.token_terms();
    std::int64_t size = 0;
    fetch.batch = false;
    fetch.asked = terms.now;
    fetch.parts = 1;
    // Without room nothing can be kept.
    (void)zone_.windows().update(demand.id, now, [&](BucketRecord& record) {
        if (!batched || are_others(record, terms)) {
            return;
        }
        size = begin_batch(record, terms);
        fetch.batch = size != 0;
        size = fetch.batch ? size : size_beside(record, terms);
        if (record.reset == 0) {
            expect_bucket(record, now + demand.life);
        }
    });
    if (demand.fixed()) {
        size = fetch.batch ? demand.batch : std::min(size, demand.batch);
    }
    // Tokens that cannot be noted cannot be given back.
    const bool can_go_back = size > least && fetch.key.size() <= DebtRecord::max_key &&
                             note(fetch.key, demand, end_of(fetch.asked, demand.life));
    size = can_go_back ? size : 0;
    fetch.demand.least = least;
    fetch.demand.want = std::max(least, size);
    fetch.unclaimed = fetch.demand.want;
    if (batched && size <= least) {
        close(fetch);
    }
}

void Fetches::hand_out_of_bucket(Fetch& fetch, std::int64_t granted, const Window& answer) noexcept {
    Sharing sharing(fetch);
    Dying dying;
    counters_.add(TokenEvent::fetched, granted);
    if (!hand_out_here(fetch, granted, answer, sharing, dying)) {
        std::int64_t left = granted;
        sharing.serve([&left](const Demand& demand) {
            const bool enough = demand.want <= left;
            left -= enough ? demand.want : 0;
            return enough;
        });
        dying = {left, end_of(fetch.asked, fetch.demand.life)};
    }
    (void)refund(fetch.key, fetch.demand, dying);
    if (sharing.left_here != 0) {
        keep(fetch, sharing.left_until);
    }
    const Nanos missing = std::max<Nanos>(0, answer.used - nanos_of(now_millis()));
    const std::int64_t left_there = std::max<Nanos>(0, fetch.demand.fill - missing) / fetch.demand.token;
    const std::int64_t refused = granted == 0 ? fetch.demand.least : max_leased;
    FreeList<Fetch>::common().put_back(fetch);
    while (!sharing.served.empty()) {
        Seat& seat = sharing.served.front();
        seat.end_ = sharing.end;
        seat.serve(seat.demand_->want, answer);
    }
    while (!sharing.waiting.empty()) {
        Seat& seat = sharing.waiting.front();
        if (seat.demand_->want <= left_there && seat.demand_->want < refused) {
            seat.leave();
            find_seat(seat);
        } else {
            seat.serve(0, answer);
        }
    }
}

/// Hands out through the record, under one lock. False without room in the memory.
bool Fetches::hand_out_here(const Fetch& fetch, std::int64_t granted, const Window& answer, Sharing& sharing,
                            Dying& dying) noexcept {
    const Millis now = now_millis();
    const TokenTerms terms = fetch.token_terms();
    const Ticks end = end_of(fetch.asked, fetch.demand.life);
    sharing.end = end;
    return zone_.windows().update(fetch.demand.id, now, [&](BucketRecord& record) {
        learn_bucket(record, fetch.demand.fill, now, answer.used);
        if (fetch.batch) {
            end_batch(record, fetch.asked, terms.now);
        }
        std::int64_t pool = alive(record, terms) + granted;
        sharing.end = oldest_end(record, terms, end);
        sharing.serve([&pool](const Demand& demand) {
            const bool enough = demand.want <= pool;
            pool -= enough ? demand.want : 0;
            return enough;
        });
        counters_.add(TokenEvent::lost, take_forgotten(record, terms));
        dying = keep_batch(record, terms, {granted, end, sharing.handed_out});
        sharing.left_here = are_others(record, terms) ? 0 : at_hand(record);
        sharing.left_until = record.batch().end;
    });
}

/// Notes tokens that are left. Without room for the note they go back. A leaving worker gives them back, too:
/// its last walk may be over.
void Fetches::keep(const Fetch& fetch, Ticks end) noexcept {
    if (!is_leaving() && note(fetch.key, fetch.demand, end)) {
        return;
    }
    Dying left;
    const TokenTerms terms = fetch.token_terms();
    zone_.windows().change(fetch.demand.id,
                           [&](BucketRecord& record) { left = take_dying(record, terms, true); });
    (void)refund(fetch.key, fetch.demand, left);
}

void Fetches::give_back(std::string_view key, const Demand& demand, const Dying& tokens) noexcept {
    bool kept = false;
    // Tokens that are not noted would die unseen. The clock is read under the lock: a walk that comes later
    // finds the tokens, and one that came earlier has seen them dead.
    if (!is_leaving() && are_alive(tokens.end, fresh_ticks()) && note(key, demand, tokens.end)) {
        zone_.windows().change(demand.id, [&](BucketRecord& record) {
            kept = put_back(record, terms_of_tokens(demand), tokens);
        });
    }
    if (!kept) {
        (void)refund(key, demand, tokens);
    }
}

/// Notes tokens that are at hand, or to come, and die at `end`. Other workers may have younger ones there by
/// now, so that a note that lasts longer stays as it is, unless the clock was set back since. False without
/// room for it.
bool Fetches::note(std::string_view key, const Demand& demand, Ticks end) noexcept {
    const Millis now = now_millis();
    const Millis reset = now + 1 + static_cast<std::int32_t>(end - ticks_now());
    zone_.note_tokens();
    const std::uint64_t digest = digest_of(routes_, route_, key);
    const std::uint32_t terms = mark_of(demand.token, demand.fill);
    const WindowId id = note_id_of(demand.id, terms);
    return zone_.debts().update(id, now, [&](DebtRecord& note) {
        note.reset = note.reset <= now + demand.life ? std::max(note.reset, reset) : reset;
        note.shard = digest;
        note.window_kind = WindowKind::bucket;
        note.kind = DebtKind::tokens;
        note.bucket_tokens = {demand.token, demand.fill, demand.life,
                              static_cast<std::uint32_t>(demand.rate.period)};
        note.set_key(key);
    });
}

/// Gives back what is dead of a bucket's noted tokens, or `all` of them; what is not stays noted.
Fetches::Left Fetches::look_at_bucket(const Noted& seen, bool all) noexcept {
    const auto note = zone_.debts().find(seen.id);
    if (!note || !note->of_bucket_tokens() || note->reset != seen.reset) {
        return Left::nothing;
    }
    Demand of;
    of.id = window_id_of(seen.id, *note);
    of.rate.period = note->bucket_tokens.period;
    of.window_kind = WindowKind::bucket;
    of.token = note->bucket_tokens.token;
    of.fill = note->bucket_tokens.fill;
    of.life = note->bucket_tokens.life;
    Dying dying;
    Ticks left_until = 0;
    bool left = false;
    const TokenTerms terms = terms_of_tokens(of);
    zone_.windows().change(of.id, [&](BucketRecord& record) {
        dying = take_dying(record, terms, all);
        left = alive(record, terms) != 0;
        left_until = record.batch().end;
    });
    if (left) {
        (void)this->note(note->key(), of, left_until);
        return Left::tokens;
    }
    return refund(note->key(), of, dying) ? Left::refund : Left::nothing;
}

/// To the primary, as far as the bucket has not been refilled without them.
bool Fetches::refund(std::string_view key, const Demand& demand, const Dying& tokens) noexcept {
    const Nanos back = worth(tokens, terms_of_tokens(demand));
    const std::int64_t returned = back / demand.token;
    const bool goes_back = back != 0 && nodes_.primary().usable();
    counters_.add(TokenEvent::returned, goes_back ? returned : 0);
    counters_.add(TokenEvent::lost, tokens.tokens - (goes_back ? returned : 0));
    if (goes_back) {
        charges_.refund_uncounted(key, demand, back, now_millis() + millis_of(back));
    }
    return goes_back;
}

}  // namespace rate_limit
