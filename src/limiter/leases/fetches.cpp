#include "limiter/leases/fetches.h"

#include <algorithm>

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
        batches_of(demand).hand_out(*fetches, *this, told.granted, told.window);
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
        found->second->demand.sees_bucket_as(what) && !batches_of(what).is_old(*found->second) &&
        nodes_.primary().usable()) {
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

void Fetches::fetch_ahead(std::string_view key, const Demand& demand) noexcept {
    const auto found = open_.find(demand.id);
    const bool enough = found != open_.end() && !batches_of(demand).gives_way(*found->second, demand);
    if (demand.fixed() || enough || is_leaving() || !nodes_.primary().usable()) {
        return;
    }
    try {
        Demand ahead = demand;
        ahead.want = 0;
        Fetch& fetch = start(key, ahead);
        if (!batches_of(demand).may_go_ahead(fetch)) {
            close(fetch);
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
/// open, and does not give way. Throws std::bad_alloc.
Fetch& Fetches::take(std::string_view key, const Demand& demand, bool& opens) {
    Fetch& fetch = FreeList<Fetch>::common().take();
    std::uint32_t pace = 0;
    try {
        fetch.begin(key, demand, charges_);
        if (opens) {
            Fetch*& open = open_.emplace(demand.id, &fetch).first->second;
            const bool gives_way = batches_of(demand).gives_way(*open, demand);
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

Fetch& Fetches::start(std::string_view key, const Demand& demand) {
    bool batched = !is_leaving();
    Fetch& fetch = take(key, demand, batched);
    batches_of(demand).size_up(*this, fetch, batched);
    return fetch;
}

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
    batches_of(fetch.demand).end(*this, fetch);
    Queue<Seat> seats;
    fetch.move_seats(seats);
    FreeList<Fetch>::common().put_back(fetch);
    while (!seats.empty()) {
        seats.front().fail(reason);
    }
}

}  // namespace rate_limit
