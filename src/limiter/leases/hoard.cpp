#include "limiter/leases/hoard.h"

#include <algorithm>

#include "core/bucket/bucket_account.h"
#include "core/machine/windows/tokens.h"
#include "limiter/charges/charges.h"
#include "limiter/charges/nodes.h"
#include "limiter/leases/fetch.h"
#include "limiter/store_conf.h"
#include "limiter/zone.h"

namespace rate_limit {

Hoard::Hoard(const StoreConf& store, Route route, const Nodes& nodes, Charges& charges,
             ShardCounters& counters) noexcept
    : routes_(store.routes),
      route_(route),
      nodes_(nodes),
      charges_(charges),
      counters_(counters),
      zone_(*store.zone) {}

void Hoard::refund(std::string_view key, const Demand& demand, std::int64_t tokens, Millis reset) noexcept {
    counters_.add(TokenEvent::returned, tokens);
    charges_.refund(key, demand, tokens, reset);
}

/// The last walk of a leaving worker may be over.
void Hoard::keep(std::string_view key, const Demand& demand, Millis reset, std::int64_t tokens,
                 Millis now) noexcept {
    if (!is_leaving()) {
        (void)note(key, demand, reset, tokens, now);
        return;
    }
    std::int64_t back = 0;
    zone_.windows().change(demand.id, [&](WindowRecord& record) {
        if (record.reset == reset) {
            back = std::min(tokens, at_hand(record));
            record.leased = record.leased - static_cast<std::uint64_t>(back);
        }
    });
    if (back != 0) {
        refund(key, demand, back, reset);
    }
}

void Hoard::give_back(std::string_view key, const Demand& demand, std::int64_t tokens,
                      Millis reset) noexcept {
    const Millis now = now_millis();
    bool kept = false;
    zone_.windows().change(demand.id, [&](WindowRecord& record) {
        kept = !is_leaving() && rate_limit::give_back(record, reset, demand.rate.period, now, tokens);
    });
    if (kept) {
        (void)note(key, demand, reset, tokens, now);
    } else if (reset > now) {
        refund(key, demand, tokens, reset);
    } else {
        counters_.add(TokenEvent::lost, tokens);
    }
}

bool Hoard::note(std::string_view key, const Demand& demand, Millis reset, std::int64_t tokens,
                 Millis now) noexcept {
    if (key.size() > DebtRecord::max_key) {
        return false;
    }
    zone_.note_tokens();
    const std::uint64_t digest = digest_of(routes_, route_, key);
    return zone_.debts().update(note_id_of(demand.id), now, [&](DebtRecord& note) {
        if (note.reset != reset || note.shard != digest) {
            note.reset = reset;
            note.tokens = {0, now, static_cast<std::uint32_t>(demand.rate.period)};
            note.shard = digest;
            note.window_kind = demand.window_kind;
            note.set_key(key);
        }
        note.kind = demand.fixed() ? DebtKind::fixed_tokens : DebtKind::tokens;
        note.tokens.count += tokens;
    });
}

Hoard::Left Hoard::end(const Noted& seen, bool all) noexcept {
    if (const auto left = look_at_bucket(seen, all)) {
        return *left;
    }
    std::int64_t lost = 0;
    zone_.windows().change(note_id_of(seen.id), [&](WindowRecord& record) {
        if (record.reset == seen.reset) {
            lost = at_hand(record);
            record.leased = 0;
        }
    });
    counters_.add(TokenEvent::lost, lost);
    return Left::nothing;
}

bool Hoard::look(const Noted& seen, bool all, Millis now) noexcept {
    if (const auto left = look_at_bucket(seen, all)) {
        return *left == Left::refund;
    }
    if (!all && !nodes_.primary().usable()) {
        return false;  // while it is away, tokens are all that there is
    }
    DebtRecord note;
    bool found = false;
    zone_.debts().change(seen.id, [&](DebtRecord& open) {
        if (open.of_window_tokens() && (all || open.looked_at() == seen.looked_at)) {
            note = open;
            found = true;
            open.tokens.looked_at = now;  // nobody else looks now
        }
    });
    if (!found) {
        return false;
    }
    const WindowId id = window_id_of(note.id, note);
    const Look look{note.tokens.count, note.tokens.looked_at, now, note.tokens.period,
                    note.kind == DebtKind::fixed_tokens};
    std::int64_t back = 0;
    std::int64_t left_here = 0;
    zone_.windows().change(id, [&](WindowRecord& record) {
        if (record.reset != note.reset || !is_open(record, look.period, now)) {
            return;
        }
        if (all) {
            back = at_hand(record);
            record.leased = 0;
        } else {
            back = take_surplus(record, look);
        }
        left_here = at_hand(record);
    });
    zone_.debts().change(note.id, [&](DebtRecord& open) {
        if (waits(open.kind) || open.reset != note.reset) {
            return;
        }
        const bool unused = look.before == back;  // since the last look
        open.tokens.count = std::max<std::int64_t>(0, open.tokens.count - look.before + left_here);
        open.reset = open.tokens.count == 0 && unused ? 0 : open.reset;
    });
    if (back != 0) {
        Demand of;
        of.id = id;
        of.rate.period = look.period;
        of.window_kind = note.window_kind;
        refund(note.key(), of, back, note.reset);
    }
    return back != 0;
}

void Hoard::keep(std::string_view key, const Demand& demand, Ticks end) noexcept {
    if (!is_leaving() && note(key, demand, end)) {
        return;
    }
    Dying left;
    const TokenTerms terms = terms_of_tokens(demand);
    zone_.windows().change(demand.id, [&](BucketRecord& record) { left = take_dying(record, terms, true); });
    (void)refund(key, demand, left);
}

void Hoard::give_back(std::string_view key, const Demand& demand, const Dying& tokens) noexcept {
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

/// Other workers may have younger ones there by now, so that a note that lasts longer stays as it is, unless
/// the clock was set back since.
bool Hoard::note(std::string_view key, const Demand& demand, Ticks end) noexcept {
    const Millis now = now_millis();
    const Millis reset = now + 1 + static_cast<std::int32_t>(end - ticks_now());
    zone_.note_tokens();
    const std::uint64_t digest = digest_of(routes_, route_, key);
    const std::uint32_t terms = mark_of(demand.token, demand.fill);
    const WindowId id = note_id_of(demand.id, terms);
    return zone_.debts().update(id, now, [&](DebtRecord& note) {
        note.reset = note.reset <= now + demand.life ? std::max(note.reset, reset) : reset;
        note.shard = digest;
        note.window_kind = demand.window_kind;
        note.kind = DebtKind::bucket_tokens;
        note.bucket_tokens = {demand.token, demand.fill, demand.life,
                              static_cast<std::uint32_t>(demand.rate.period)};
        note.set_key(key);
    });
}

/// Gives back what is dead of a bucket's noted tokens, or `all` of them; what is not stays noted. None where
/// the note is not of a bucket.
std::optional<Hoard::Left> Hoard::look_at_bucket(const Noted& seen, bool all) noexcept {
    const auto note = zone_.debts().find(seen.id);
    if (!note || note->kind != DebtKind::bucket_tokens || note->reset != seen.reset) {
        return std::nullopt;
    }
    Demand of;
    of.id = window_id_of(seen.id, *note);
    of.rate.period = note->bucket_tokens.period;
    of.window_kind = note->window_kind;
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
        left_until = last_end(record);
    });
    if (left) {
        (void)this->note(note->key(), of, left_until);
        return Left::tokens;
    }
    return refund(note->key(), of, dying) ? Left::refund : Left::nothing;
}

bool Hoard::refund(std::string_view key, const Demand& demand, const Dying& tokens) noexcept {
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
