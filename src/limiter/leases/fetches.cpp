#include "limiter/leases/fetches.h"

#include <algorithm>

#include "core/free_list.h"
#include "core/machine/tokens.h"
#include "limiter/charges/charges.h"
#include "limiter/charges/nodes.h"
#include "limiter/store_conf.h"
#include "limiter/worker.h"
#include "limiter/zone.h"
#include "redis/decode.h"
#include "redis/keys/routes.h"

namespace rate_limit {

void Fetch::answered(Node& node, Delivery delivery, const Reply* reply) noexcept {
    delivery = became(node, delivery, reply);
    if (delivery == Delivery::answered && wanted() && send_again(node, *reply)) {
        return;
    }
    fetches->close(*this);
    if (delivery != Delivery::answered) {
        if (delivery == Delivery::in_doubt && !fetches->keep_unanswered(*this)) {
            doubt(nullptr);
            for (Seat* seat = seats.first(); seat != nullptr; seat = seats.after(*seat)) {
                seat->in_doubt_ = true;
            }
        }
        fetches->fail(*this, no_answer);
        return;
    }
    std::int64_t granted = 0;
    Window window;
    const Fault fault = judge(node, *reply, granted, window);
    if (granted != 0) {
        charges->reserved();
    }
    if (number != 0 && (fault == Fault::none || fault == Fault::malformed)) {
        fetches->unanswered_.remove(demand.id);
    }
    if (wanted_before != 0 && fault == Fault::malformed) {
        doubt(nullptr);  // nor would this server say next time what became of it
    }
    if (fault == Fault::none) {
        fetches->hand_out(*this, granted, window);
    } else {
        fetches->fail(*this, explain(fault));
    }
}

Fetches::Fetches(const StoreConf& store, Route route, Nodes& nodes, Charges& charges, ShardCounters& counters,
                 Deadlines& deadlines, UnansweredBatches& unanswered) noexcept
    : routes_(store.routes),
      route_(route),
      nodes_(nodes),
      charges_(charges),
      counters_(counters),
      deadlines_(deadlines),
      unanswered_(unanswered),
      zone_(*store.zone) {}

void Fetches::fetch(Seat& seat, std::string_view key, const Demand& demand, Answer::Owner& owner) noexcept {
    seat.key_ = key;
    seat.demand_ = &demand;
    seat.begin(deadlines_, Deadlines::Stage::whole, &counters_, owner);
    find_seat(seat);
}

/// In the fetch that is under way, or in one of its own.
void Fetches::find_seat(Seat& seat) noexcept {
    const Demand& what = *seat.demand_;
    const auto found = open_.find(what.id);
    // A fetch that is not answered in time holds up nobody else.
    if (found != open_.end() && found->second->unclaimed >= what.want &&
        found->second->demand.sees_bucket_as(what) && !found->second->is_old() && nodes_.primary().usable()) {
        found->second->add(seat);
        return;
    }
    try {
        Fetch& fetch = start(seat.key_, what);
        fetch.add(seat);
        submit(fetch);
    } catch (...) {
        seat.fail("no memory");
    }
}

void Fetches::fetch_ahead(std::string_view key, const Demand& demand) noexcept {
    if (is_leaving() || !nodes_.primary().usable() || open_.find(demand.id) != open_.end()) {
        return;
    }
    try {
        Fetch& fetch = start(key, demand);
        fetch.ahead = true;
        submit(fetch);
    } catch (...) {
        // the first request that finds no tokens asks
    }
}

/// One that asks for nothing yet. `opens`: others may take seats in it; false then if one of the window is
/// open. Of a bucket the last one is open: those of the same terms before it are spoken for. Throws
/// std::bad_alloc.
Fetch& Fetches::take(std::string_view key, const Demand& demand, bool& opens) {
    Fetch& fetch = FreeList<Fetch>::common().take();
    try {
        fetch.begin(key, demand, charges_);
        if (opens) {
            Fetch*& open = open_.emplace(demand.id, &fetch).first->second;
            open = demand.of_leased_bucket() && open->demand.sees_bucket_as(demand) ? &fetch : open;
            opens = open == &fetch;
        }
    } catch (...) {
        FreeList<Fetch>::common().put_back(fetch);
        throw;
    }
    fetch.fetches = this;
    fetch.parts = demand.fixed() ? 1 : parts_of_rest;
    fetch.ahead = false;
    fetch.events = 0;
    fetch.known = 0;
    return fetch;
}

/// Decides how many tokens to ask for: more than are needed at once only if no other batch is on its way, if
/// they can be kept and given back later, and if this worker stays.
Fetch& Fetches::start(std::string_view key, const Demand& demand) {
    bool batched = !is_leaving();
    Fetch& fetch = take(key, demand, batched);
    const Millis now = now_millis();
    if (demand.of_leased_bucket()) {
        size_up(fetch, batched);
        return fetch;
    }
    std::int64_t here = 0;
    std::int64_t size = 0;
    Millis reset = fetch.terms(now).proposed;
    const bool room = zone_.windows().update(demand.id, now, [&](WindowRecord& record) {
        const Terms terms = fetch.terms(now);
        if (is_open(record, terms.rate.period, now)) {
            here = at_hand(record);
            reset = record.reset;  // that the tokens at hand are noted with
        }
        fetch.known = record.reset;
        size = batched ? begin_fetch(record, terms) : 0;
        fetch.events = record.events;
    });
    size = batched && demand.fixed() ? demand.batch : size;
    fetch.demand.least = std::max<std::int64_t>(1, demand.want - here);
    fetch.demand.want = fetch.demand.least;
    fetch.unclaimed = demand.want;
    if (batched && size < demand.want) {
        close(fetch);  // larger than a batch: for itself
    } else if (batched && room && size > demand.want && note(key, demand, reset, 0, now)) {
        fetch.demand.want = size;
        fetch.unclaimed = size;
        number_batch(fetch);
    }
    return fetch;
}

/// The batch has the number of the one before it, if that one was not answered: Redis tells then what it was
/// granted. It has none while one with a number is under way, perhaps to a former primary.
void Fetches::number_batch(Fetch& fetch) noexcept {
    if (worker_id().empty() || !unanswered_.begin(fetch.demand.id)) {
        return;
    }
    const UnansweredBatch* before = unanswered_.find(fetch.demand.id);
    fetch.number = before != nullptr ? before->number : next_number();
    fetch.wanted_before = before != nullptr ? before->want : 0;
}

/// The primary may have granted it, and is asked again. False without memory, or where it cannot be.
bool Fetches::keep_unanswered(const Fetch& fetch) noexcept {
    if (fetch.number == 0) {
        return false;
    }
    const Millis now = now_millis();
    const Route route = routes_.has_slots() ? key_slot(fetch.key) : route_;
    if (charges_.keeps_worker(fetch.number, now)) {
        zone_.note_unanswered();
    }
    return unanswered_.add({fetch.number, std::max(fetch.demand.want, fetch.wanted_before),
                            std::min(latest_reset(fetch.demand.rate.period, now), now + numbered_life),
                            msec_now(), route, fetch.key, fetch.demand});
}

void Fetches::ask_again(const UnansweredBatch& batch) noexcept {
    const WindowId id = batch.demand.id;
    if (!nodes_.primary().usable() || open_.find(id) != open_.end() || !unanswered_.begin(id)) {
        return;
    }
    try {
        bool opens = true;
        Fetch& fetch = take(batch.key, batch.demand, opens);
        fetch.ahead = true;
        fetch.number = batch.number;
        fetch.wanted_before = batch.want;
        fetch.demand.want = 0;
        fetch.demand.least = 0;
        fetch.unclaimed = 0;
        zone_.windows().change(id, [&fetch](WindowRecord& record) {
            fetch.events = record.events;
            fetch.known = record.reset;
        });
        submit(fetch);
    } catch (...) {
        unanswered_.end(id);  // it is tried again later
    }
}

void Fetches::submit(Fetch& fetch) noexcept {
    Node* node = nodes_.choose_primary();
    if (node == nullptr) {
        close(fetch);
        fail(fetch, no_primary);
        return;
    }
    charges_.go_before(fetch.demand.id);
    node->submit(fetch);
}

/// No request takes a seat in it any more, and it is not under way.
void Fetches::close(Fetch& fetch) noexcept {
    if (fetch.number != 0) {
        unanswered_.end(fetch.demand.id);
    }
    const auto found = open_.find(fetch.demand.id);
    if (found != open_.end() && found->second == &fetch) {
        open_.erase(found);
    }
}

/// Ends a fetch that got no answer; it must not be used after this.
void Fetches::fail(Fetch& fetch, const char* reason) noexcept {
    if (!fetch.demand.of_leased_bucket()) {
        zone_.windows().change(fetch.demand.id, end_fetch);
    } else if (fetch.batch) {
        zone_.windows().change(fetch.demand.id,
                               [&](BucketRecord& record) { end_batch(record, fetch.asked, fresh_ticks()); });
    }
    Queue<Seat> seats;
    fetch.move_seats(seats);
    FreeList<Fetch>::common().put_back(fetch);
    while (!seats.empty()) {
        seats.front().fail(reason);
    }
}

/// Hands out what the primary granted.
void Fetches::hand_out(Fetch& fetch, std::int64_t granted, const Window& answer) noexcept {
    if (fetch.demand.of_leased_bucket()) {
        hand_out_of_bucket(fetch, granted, answer);
        return;
    }
    const Millis now = now_millis();
    const bool live = is_open(answer, fetch.demand.rate.period, now);
    Sharing sharing(fetch);
    counters_.add(TokenEvent::fetched, granted);
    if (!hand_out_here(fetch, granted, answer, sharing)) {
        counters_.add(TokenEvent::lost, live ? 0 : granted);
        hand_out_there(fetch, live ? granted : 0, answer, sharing);
    } else if (granted > sharing.handed_out) {
        keep(fetch, answer.reset, granted - sharing.handed_out, now);
    }
    FreeList<Fetch>::common().put_back(fetch);
    tell(sharing, answer, !live && granted != 0);
}

/// Hands out through the window's record, under one lock, so that each request that has a seat gets its
/// tokens. False without room in the memory, or when Redis is in another window.
bool Fetches::hand_out_here(const Fetch& fetch, std::int64_t granted, const Window& answer,
                            Sharing& sharing) noexcept {
    const Millis now = now_millis();
    const Terms terms = fetch.terms(now);
    const Question question = charges_.question(fetch.demand.id, fetch.events, fetch.known);
    bool kept = false;
    std::int64_t lost = 0;
    (void)zone_.windows().update(fetch.demand.id, now, [&](WindowRecord& record) {
        lost = at_hand(record);
        kept = grant(record, terms, answer, granted, question);
        lost += (kept ? granted : 0) - at_hand(record);
        if (!kept) {
            return;
        }
        sharing.serve([&](const Demand& demand) {
            Terms own = terms;
            own.rate = demand.rate;
            return consume(record, own, demand.want);
        });
        sharing.left_here = at_hand(record);
        sharing.used = taken(record);
    });
    counters_.add(TokenEvent::lost, lost);
    return kept;
}

/// Hands out without the record: what is left goes back to the primary at once.
void Fetches::hand_out_there(const Fetch& fetch, std::int64_t granted, const Window& answer,
                             Sharing& sharing) noexcept {
    std::int64_t left = granted;
    sharing.serve([&left](const Demand& demand) {
        const bool enough = demand.want <= left;
        left -= enough ? demand.want : 0;
        return enough;
    });
    sharing.used = answer.used - left;
    if (left != 0) {
        refund(fetch.key, fetch.demand, left, answer.reset);
    }
}

void Fetches::refund(std::string_view key, const Demand& demand, std::int64_t tokens, Millis reset) noexcept {
    counters_.add(TokenEvent::returned, tokens);
    charges_.refund(key, demand, tokens, reset);
}

/// Tells the requests. A request asks again if it got too little although the primary has enough, or if its
/// tokens came after their window had ended.
void Fetches::tell(Sharing& sharing, const Window& answer, bool too_late) noexcept {
    std::int64_t used = sharing.used - sharing.handed_out;
    while (!sharing.served.empty()) {
        Seat& seat = sharing.served.front();
        const std::int64_t want = seat.demand_->want;
        seat.serve(want, {used, answer.reset});
        used += want;
    }
    while (!sharing.waiting.empty()) {
        Seat& seat = sharing.waiting.front();
        const Demand& demand = *seat.demand_;
        const std::int64_t missing = demand.want - sharing.left_here;
        if (too_late || (missing > 0 && missing <= demand.rate.limit - answer.used)) {
            seat.leave();
            find_seat(seat);
        } else {
            seat.serve(0, {used, answer.reset});
        }
    }
}

/// Notes tokens that are left. A leaving worker gives them back instead: the last walk of this worker may be
/// over.
void Fetches::keep(const Fetch& fetch, Millis reset, std::int64_t tokens, Millis now) noexcept {
    if (!is_leaving()) {
        (void)note(fetch.key, fetch.demand, reset, tokens, now);
        return;
    }
    std::int64_t back = 0;
    zone_.windows().change(fetch.demand.id, [&](WindowRecord& record) {
        if (record.reset == reset) {
            back = std::min(tokens, at_hand(record));
            record.leased = record.leased - static_cast<std::uint64_t>(back);
        }
    });
    if (back != 0) {
        refund(fetch.key, fetch.demand, back, reset);
    }
}

void Fetches::give_back(std::string_view key, const Demand& demand, std::int64_t tokens,
                        Millis reset) noexcept {
    const Millis now = now_millis();
    bool kept = false;
    zone_.windows().change(demand.id, [&](WindowRecord& record) {
        // The last walk of a leaving worker may be over.
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

/// False without room for it.
bool Fetches::note(std::string_view key, const Demand& demand, Millis reset, std::int64_t tokens,
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

Fetches::Left Fetches::end(const Noted& seen, bool all) noexcept {
    const Left left = look_at_bucket(seen, all);
    if (left != Left::nothing) {
        return left;
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

bool Fetches::look(const Noted& seen, bool all, Millis now) noexcept {
    const Left left = look_at_bucket(seen, all);
    if (left != Left::nothing) {
        return left == Left::refund;
    }
    if (!all && !nodes_.primary().usable()) {
        return false;  // while it is away, tokens are all that there is
    }
    DebtRecord note;
    bool found = false;
    zone_.debts().change(seen.id, [&](DebtRecord& open) {
        if (!waits(open.kind) && !open.of_bucket() && (all || open.looked_at() == seen.looked_at)) {
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

}  // namespace rate_limit
