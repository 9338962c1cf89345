#include "limiter/leases/fetches.h"

#include <algorithm>

#include "core/bucket/bucket_account.h"
#include "core/free_list.h"
#include "core/machine/windows/tokens.h"
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
    Told told;
    const Fault fault = judge(node, *reply, told);
    if (told.granted != 0) {
        charges->reserved();
    }
    if (number != 0 && (fault == Fault::none || fault == Fault::malformed)) {
        fetches->forget_unanswered(demand.id, fault);
    }
    if (fault == Fault::none) {
        fetches->hand_out(*this, told.granted, told.window);
    } else {
        fetches->fail(*this, explain(fault));
    }
}

Fetches::Fetches(const StoreConf& store, Route route, Nodes& nodes, Charges& charges, Hoard& hoard,
                 ShardCounters& counters, Deadlines& deadlines, UnansweredBatches& unanswered) noexcept
    : routes_(store.routes),
      route_(route),
      nodes_(nodes),
      charges_(charges),
      hoard_(hoard),
      counters_(counters),
      deadlines_(deadlines),
      unanswered_(unanswered),
      zone_(*store.zone) {}

void Fetches::fetch(Seat& seat, std::string_view key, const Demand& demand, Answer::Owner& owner) noexcept {
    seat.key_ = key;
    seat.demand_ = &demand;
    seat.begin(deadlines_, &counters_, owner);
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
        if (found->second->is_short()) {
            fetch_ahead(seat.key_, what);
        }
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

/// A bucket's record knows how many of its tokens are on their way.
void Fetches::fetch_ahead(std::string_view key, const Demand& demand) noexcept {
    const auto found = open_.find(demand.id);
    const bool enough = found != open_.end() && !demand.of_bucket() && !found->second->is_short();
    if (demand.fixed() || enough || is_leaving() || !nodes_.primary().usable()) {
        return;
    }
    try {
        Demand ahead = demand;
        ahead.want = 0;
        Fetch& fetch = start(key, ahead);
        if (demand.of_bucket() && !fetch.batch) {
            close(fetch);  // others have begun so many meanwhile
            FreeList<Fetch>::common().put_back(fetch);
            return;
        }
        fetch.ahead = true;
        submit(fetch);
    } catch (...) {
        // the first request that finds no tokens asks
    }
}

Millis Fetches::answer_time() const noexcept {
    return static_cast<Millis>((nodes_.primary().answer_time().smoothed().value_or(0) + 999) / 1000);
}

/// One that asks for nothing yet. `opens`: others may take seats in it; false then if one of the window is
/// open, and not short. Of a bucket the last one is open: those of the same terms before it are spoken for.
/// Throws std::bad_alloc.
Fetch& Fetches::take(std::string_view key, const Demand& demand, bool& opens) {
    Fetch& fetch = FreeList<Fetch>::common().take();
    std::uint32_t pace = 0;
    try {
        fetch.begin(key, demand, charges_);
        if (opens) {
            Fetch*& open = open_.emplace(demand.id, &fetch).first->second;
            const bool gives_way =
                demand.of_bucket() ? open->demand.sees_bucket_as(demand) : open->is_short();
            pace = gives_way && open != &fetch ? next_pace(open->pace, 0, demand.rate) : 0;
            open = gives_way ? &fetch : open;
            opens = open == &fetch;
        }
    } catch (...) {
        FreeList<Fetch>::common().put_back(fetch);
        throw;
    }
    fetch.fetches = this;
    fetch.parts = demand.fixed() ? 1 : parts_of_rest;
    fetch.ahead = false;
    fetch.pace = pace;
    fetch.events = 0;
    fetch.known = 0;
    fetch.asked = fresh_ticks();
    return fetch;
}

/// Decides how many tokens to ask for: more than are needed at once only if no other batch is on its way, if
/// they can be kept and given back later, and if this worker stays.
Fetch& Fetches::start(std::string_view key, const Demand& demand) {
    bool batched = !is_leaving();
    Fetch& fetch = take(key, demand, batched);
    const Millis now = now_millis();
    if (demand.of_bucket()) {
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
        if (batched) {
            size = begin_fetch(record, terms, fetch.pace);
            fetch.pace = record.pace;
        }
        fetch.events = record.events;
    });
    size = batched && demand.fixed() ? demand.batch : size;
    fetch.demand.least = std::max<std::int64_t>(1, demand.want - here);
    fetch.demand.want = fetch.demand.least;
    fetch.unclaimed = demand.want;
    if (batched && size < demand.want) {
        close(fetch);  // larger than a batch: for itself
    } else if (batched && room && size > demand.want && hoard_.note(key, demand, reset, 0, now)) {
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
                            msec_now(), route, fetch.key, fetch.demand, fetch.why});
}

/// The primary has been asked about it again: after a malformed answer it would say no better next time.
void Fetches::forget_unanswered(const WindowId& id, Fault fault) noexcept {
    const UnansweredBatch* batch = unanswered_.find(id);
    if (batch != nullptr && fault == Fault::malformed) {
        give_up(*batch);
    }
    unanswered_.remove(id);
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
    if (!fetch.demand.of_bucket()) {
        zone_.windows().change(fetch.demand.id, end_fetch);
    } else if (fetch.batch) {
        zone_.windows().change(fetch.demand.id, [&](BucketRecord& record) {
            end_batch(record, fetch.asked, token_terms(fetch));
        });
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
    if (fetch.demand.of_bucket()) {
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
        hoard_.keep(fetch.key, fetch.demand, answer.reset, granted - sharing.handed_out, now);
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
        record.pace = fetch.known == 0 ? std::max<std::uint32_t>(record.pace, fetch.pace) : record.pace;
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
    sharing.serve_from(left);
    sharing.used = answer.used - left;
    if (left != 0) {
        hoard_.refund(fetch.key, fetch.demand, left, answer.reset);
    }
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

TokenTerms Fetches::token_terms(const Fetch& fetch) const noexcept {
    TokenTerms terms = terms_of_tokens(fetch.demand);
    terms.answer = answer_time();
    return terms;
}

/// Decides how many tokens of a bucket to ask for. `batched`: more may be asked for than the request needs,
/// and this fetch is the one in which others take seats.
void Fetches::size_up(Fetch& fetch, bool batched) noexcept {
    const Demand& demand = fetch.demand;
    const Millis now = now_millis();
    const bool ahead = demand.want == 0;
    const std::int64_t least = std::max<std::int64_t>(1, demand.want);
    const TokenTerms terms = token_terms(fetch);
    std::int64_t size = 0;
    fetch.batch = false;
    fetch.asked = terms.now;
    fetch.parts = 1;
    // Without room nothing can be kept.
    (void)zone_.windows().update(demand.id, now, [&](BucketRecord& record) {
        if (!batched || are_others(record, terms)) {
            return;
        }
        size = begin_batch(record, terms, ahead);
        fetch.batch = size != 0;
        size = fetch.batch || ahead ? size : size_beside(record, terms);
        if (record.reset == 0) {
            expect_bucket(record, now + demand.life);
        }
    });
    if (demand.fixed()) {
        size = fetch.batch ? demand.batch : std::min(size, demand.batch);
    }
    // Tokens that cannot be noted cannot be given back.
    const bool can_go_back = size > least && fetch.key.size() <= DebtRecord::max_key &&
                             hoard_.note(fetch.key, demand, end_of(fetch.asked, demand.life));
    size = can_go_back ? size : 0;
    fetch.demand.least = least;
    fetch.demand.want = std::max(least, size);
    fetch.unclaimed = fetch.demand.want;
    if (batched && size <= least && !ahead) {
        close(fetch);
    }
}

void Fetches::hand_out_of_bucket(Fetch& fetch, std::int64_t granted, const Window& answer) noexcept {
    Sharing sharing(fetch);
    Dying dying;
    counters_.add(TokenEvent::fetched, granted);
    if (!hand_out_here(fetch, granted, answer, sharing, dying)) {
        std::int64_t left = granted;
        sharing.serve_from(left);
        dying = {left, end_of(fetch.asked, fetch.demand.life)};
    }
    (void)hoard_.refund(fetch.key, fetch.demand, dying);
    if (sharing.left_here != 0) {
        hoard_.keep(fetch.key, fetch.demand, sharing.left_until);
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
    const TokenTerms terms = token_terms(fetch);
    const Ticks end = end_of(fetch.asked, fetch.demand.life);
    sharing.end = end;
    return zone_.windows().update(fetch.demand.id, now, [&](BucketRecord& record) {
        learn_bucket(record, fetch.demand.fill, now, answer.used);
        if (fetch.batch) {
            end_batch(record, fetch.asked, terms);
        }
        std::int64_t pool = alive(record, terms) + granted;
        sharing.end = oldest_end(record, terms, end);
        sharing.serve_from(pool);
        counters_.add(TokenEvent::lost, take_forgotten(record, terms));
        dying = keep_batch(record, terms, {granted, end, sharing.handed_out});
        sharing.left_here = are_others(record, terms) ? 0 : at_hand(record);
        sharing.left_until = last_end(record);
    });
}

}  // namespace rate_limit
