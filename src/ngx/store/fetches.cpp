#include "ngx/store/fetches.h"

#include <algorithm>
#include <string>

#include "core/free_list.h"
#include "core/machine/tokens.h"
#include "ngx/base/zone.h"
#include "ngx/conf/redis_conf.h"
#include "ngx/store/charges.h"
#include "ngx/store/nodes.h"
#include "ngx/store/reserve_command.h"
#include "redis/answer.h"

namespace rate_limit {

namespace {

constexpr const char* no_primary = "the primary of the shard is not up";
constexpr const char* no_answer = "the primary did not answer";

}  // namespace

/// A batch, or what one request asks for itself. Belongs to the node until it is answered; who waits may be
/// gone by then, and the tokens are kept all the same.
class Fetch final : public ReserveCommand {
public:
    Fetch() noexcept { ngx_queue_init(&waiting); }

    bool wanted() const noexcept override { return ahead || !ngx_queue_empty(&waiting); }
    void answered(Node& node, Delivery delivery, const Reply* reply) noexcept override;

    void add(Check& check) noexcept {
        check.fetch_ = this;
        ngx_queue_insert_tail(&waiting, &check.place_);
    }

    /// As a check that is in a queue by its place.
    static Check& check_of(ngx_queue_t& place) noexcept { return *ngx_queue_data(&place, Check, place_); }

    static std::int64_t cost_of(const Check& check) noexcept { return check.demand_->want; }

    /// Gives the check what it waits for; or nothing, and the reason in `window`.
    static void end(Check& check, std::int64_t tokens, const Window& window) noexcept {
        check.granted_ = tokens;
        check.window_ = window;
        check.end(nullptr);
    }

    static void fail(Check& check, const char* reason) noexcept { check.end(reason); }

    static const Demand& demand_of(const Check& check) noexcept { return *check.demand_; }

    static std::string_view key_of(const Check& check) noexcept { return check.key_; }

    Terms terms(Millis now) const noexcept {
        return {demand.rate, Truth::redis, propose_reset(demand.kind, demand.rate.period, now), now};
    }

    Fetches* leases = nullptr;
    ngx_queue_t waiting;      // checks, first come first served
    std::int64_t places = 0;  // tokens that nobody has spoken for
    bool ahead = false;       // nobody needs to wait for it
    std::uint32_t events = 0;

private:
    friend class Fetches;
};

namespace {

FreeList<Fetch>& fetches() {
    static FreeList<Fetch> list;
    return list;
}

/// Moves all that wait.
void take_all(ngx_queue_t& from, ngx_queue_t& to) noexcept {
    ngx_queue_init(&to);
    if (!ngx_queue_empty(&from)) {
        ngx_queue_add(&to, &from);
        ngx_queue_init(&from);
    }
}

Check& pop(ngx_queue_t& queue) noexcept {
    ngx_queue_t* place = ngx_queue_head(&queue);
    ngx_queue_remove(place);
    return Fetch::check_of(*place);
}

}  // namespace

void Fetch::answered(Node& node, Delivery delivery, const Reply* reply) noexcept {
    if (delivery == Delivery::answered && wanted() && send_text(node, *reply)) {
        return;
    }
    leases->close(*this);
    if (delivery != Delivery::answered) {
        if (delivery == Delivery::in_doubt) {
            charges->doubt_reservation();
            for (ngx_queue_t* place = ngx_queue_head(&waiting); place != ngx_queue_sentinel(&waiting);
                 place = ngx_queue_next(place)) {
                check_of(*place).in_doubt_ = true;
            }
        }
        leases->fail(*this, no_answer);
        return;
    }
    std::int64_t granted = 0;
    Window window;
    const Fault fault = take(node, *reply, granted, window);
    if (fault == Fault::none) {
        leases->settle(*this, granted, window);
    } else {
        leases->fail(*this, explain(fault));
    }
}

Fetches::Fetches(const StoreConf& store, std::string_view shard, Nodes& nodes, Charges& charges) noexcept
    : digest_(shard_digest(store.name, shard)), nodes_(nodes), charges_(charges), zone_(*store.zone) {}

void Fetches::leave(Check& check) noexcept {
    if (check.fetch_ != nullptr) {
        check.fetch_->places += Fetch::cost_of(check);
        check.fetch_ = nullptr;
        ngx_queue_remove(&check.place_);
    }
}

void Fetches::ask(Check& check) noexcept {
    const Demand& what = Fetch::demand_of(check);
    const auto found = open_.find(what.id);
    // One that is not answered in time holds up nobody else.
    if (found != open_.end() && found->second->places >= what.want && nodes_.primary().usable()) {
        found->second->places -= what.want;
        found->second->add(check);
        return;
    }
    try {
        Fetch& fetch = start(Fetch::key_of(check), what);
        fetch.places -= what.want;
        fetch.add(check);
        submit(fetch);
    } catch (...) {
        Fetch::fail(check, "no memory");
    }
}

void Fetches::fetch_ahead(std::string_view key, const Demand& demand) noexcept {
    if (ngx_exiting != 0 || !nodes_.primary().usable() || open_.find(demand.id) != open_.end()) {
        return;
    }
    try {
        Fetch& fetch = start(key, demand);
        fetch.ahead = true;
        submit(fetch);
    } catch (...) {
        // the first that finds no tokens asks
    }
}

/// Decides how many tokens to ask for. More than are needed at once only if no other batch is on its way, if
/// they can be kept and given back later, and if this worker stays.
Fetch& Fetches::start(std::string_view key, const Demand& demand) {
    Fetch& fetch = fetches().take();
    const Millis now = now_millis();
    bool batched = ngx_exiting == 0;
    try {
        fetch.begin(key, demand, charges_);
        batched = batched && open_.emplace(demand.id, &fetch).second;
    } catch (...) {
        fetches().give_back(fetch);
        throw;
    }
    fetch.leases = this;
    fetch.parts = demand.batch == 0 ? parts_of_rest : 1;
    fetch.ahead = false;
    std::int64_t here = 0;
    std::int64_t size = 0;
    Millis reset = fetch.terms(now).proposed;
    const bool room = zone_.windows().update(demand.id, now, [&](WindowRecord& record) {
        const Terms terms = fetch.terms(now);
        if (is_open(record, terms.rate.period, now)) {
            here = at_hand(record);
            reset = record.reset;  // that the tokens at hand are noted with
        }
        size = batched ? begin_fetch(record, terms) : 0;
        fetch.events = record.events;
    });
    size = batched && demand.batch != 0 ? demand.batch : size;
    fetch.demand.least = std::max<std::int64_t>(1, demand.want - here);
    fetch.demand.want = fetch.demand.least;
    fetch.places = demand.want;
    if (batched && size < demand.want) {
        close(fetch);  // larger than a batch: for itself
    } else if (batched && room && size > demand.want && note(key, demand, reset, 0, now)) {
        fetch.demand.want = size;
        fetch.places = size;
    }
    return fetch;
}

void Fetches::submit(Fetch& fetch) noexcept {
    Node* node = nodes_.choose_primary();
    if (node == nullptr) {
        close(fetch);
        fail(fetch, no_primary);
        return;
    }
    node->submit(fetch);
}

/// Nobody takes a place in it any more.
void Fetches::close(Fetch& fetch) noexcept {
    const auto found = open_.find(fetch.demand.id);
    if (found != open_.end() && found->second == &fetch) {
        open_.erase(found);
    }
}

/// The last thing done with a fetch that got no answer.
void Fetches::fail(Fetch& fetch, const char* reason) noexcept {
    zone_.windows().change(fetch.demand.id, end_fetch);
    ngx_queue_t waiting;
    take_all(fetch.waiting, waiting);
    fetches().give_back(fetch);
    while (!ngx_queue_empty(&waiting)) {
        Check& check = pop(waiting);
        check.fetch_ = nullptr;
        Fetch::fail(check, reason);
    }
}

/// Hands out what the primary granted: under one lock, so that whoever has a place gets it. Who finds too
/// little, though the primary has as much, asks again.
void Fetches::settle(Fetch& fetch, std::int64_t granted, const Window& answer) noexcept {
    const Millis now = now_millis();
    const Terms terms = fetch.terms(now);
    const Question question = charges_.question(fetch.demand.id, fetch.events);
    const bool live = is_open(answer, terms.rate.period, now);
    ngx_queue_t waiting;
    ngx_queue_t served;
    take_all(fetch.waiting, waiting);
    ngx_queue_init(&served);
    std::int64_t left_here = 0;
    std::int64_t used = 0;
    std::int64_t handed_out = 0;

    const auto serve = [&](auto&& take) {
        for (ngx_queue_t* place = ngx_queue_head(&waiting); place != ngx_queue_sentinel(&waiting);) {
            ngx_queue_t* next = ngx_queue_next(place);
            Check& check = Fetch::check_of(*place);
            if (take(Fetch::demand_of(check))) {
                handed_out += Fetch::cost_of(check);
                ngx_queue_remove(place);
                ngx_queue_insert_tail(&served, place);
            }
            place = next;
        }
    };
    bool kept = false;
    (void)zone_.windows().update(fetch.demand.id, now, [&](WindowRecord& record) {
        kept = grant(record, terms, answer, granted, question);
        if (!kept) {
            return;
        }
        serve([&](const Demand& what) {
            Terms own = terms;
            own.rate = what.rate;
            return consume(record, own, what.want);
        });
        left_here = at_hand(record);
        used = taken(record);
    });
    if (!kept) {
        // No room in the memory, or Redis is in another window.
        std::int64_t tokens = live ? granted : 0;
        serve([&](const Demand& what) {
            const bool enough = what.want <= tokens;
            tokens -= enough ? what.want : 0;
            return enough;
        });
        used = answer.used - tokens;
        if (tokens != 0) {
            charges_.refund(fetch.key, fetch.demand, tokens, answer.reset);
        }
    } else if (granted > handed_out) {
        keep(fetch, answer.reset, granted - handed_out, now);
    }
    fetches().give_back(fetch);

    used -= handed_out;
    while (!ngx_queue_empty(&served)) {
        Check& check = pop(served);
        check.fetch_ = nullptr;
        Fetch::end(check, Fetch::cost_of(check), {used, answer.reset});
        used += Fetch::demand_of(check).want;
    }
    while (!ngx_queue_empty(&waiting)) {
        Check& check = pop(waiting);
        check.fetch_ = nullptr;
        const std::int64_t left = Fetch::demand_of(check).rate.limit - answer.used;
        const std::int64_t missing = Fetch::cost_of(check) - left_here;
        const bool too_late = !live && granted != 0;
        if (too_late || (missing > 0 && missing <= left)) {
            ask(check);
        } else {
            Fetch::end(check, 0, {used, answer.reset});
        }
    }
}

/// Notes tokens that nobody took. A leaving worker gives them back: it may have had its last look at them.
void Fetches::keep(const Fetch& fetch, Millis reset, std::int64_t tokens, Millis now) noexcept {
    if (ngx_exiting == 0) {
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
        charges_.refund(fetch.key, fetch.demand, back, reset);
    }
}

void Fetches::put_back(std::string_view key, const Demand& demand, std::int64_t tokens,
                       Millis reset) noexcept {
    const Millis now = now_millis();
    bool kept = false;
    zone_.windows().change(demand.id, [&](WindowRecord& record) {
        // A leaving worker may have had its last look at them.
        kept = ngx_exiting == 0 && rate_limit::put_back(record, reset, demand.rate.period, now, tokens);
    });
    if (kept) {
        (void)note(key, demand, reset, tokens, now);
    } else if (reset > now) {
        charges_.refund(key, demand, tokens, reset);
    }
}

/// False without room for it.
bool Fetches::note(std::string_view key, const Demand& demand, Millis reset, std::int64_t tokens,
                   Millis now) noexcept {
    if (key.size() > DebtRecord::max_key) {
        return false;
    }
    zone_.note_tokens();
    return zone_.debts().update(token_debt_of(demand.id), now, [&](DebtRecord& note) {
        if (note.reset != reset || note.shard != digest_) {
            note.reset = reset;
            note.cost = 0;
            note.looked_at = now;
            note.shard = digest_;
            note.period = static_cast<std::uint32_t>(demand.rate.period);
            note.kind = demand.kind;
            note.set_key(key);
        }
        note.note = demand.batch != 0 ? DebtKind::fixed_lease : DebtKind::lease;
        note.cost += tokens;
    });
}

bool Fetches::look(const Noted& seen, bool all, Millis now) noexcept {
    if (!all && !nodes_.primary().usable()) {
        return false;  // while it is away, tokens are all that there is
    }
    DebtRecord note;
    zone_.debts().change(seen.id, [&](DebtRecord& open) {
        if (open.note != DebtKind::charges && (all || open.looked_at == seen.looked_at)) {
            note = open;
            open.looked_at = now;  // nobody else looks now
        }
    });
    if (note.note == DebtKind::charges) {
        return false;
    }
    const WindowId id = token_debt_of(note.id);
    const Look look{note.cost, note.looked_at, now, note.period, note.note == DebtKind::fixed_lease};
    std::int64_t back = 0;
    std::int64_t left_here = 0;
    zone_.windows().change(id, [&](WindowRecord& record) {
        if (record.reset != note.reset || !is_open(record, note.period, now)) {
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
        if (open.note == DebtKind::charges || open.reset != note.reset) {
            return;
        }
        const bool unused = note.cost == back;  // since the last look
        open.cost = std::max<std::int64_t>(0, open.cost - note.cost + left_here);
        open.reset = open.cost == 0 && unused ? 0 : open.reset;
    });
    if (back != 0) {
        Demand of;
        of.id = id;
        of.rate.period = note.period;
        of.kind = note.kind;
        charges_.refund(note.key(), of, back, note.reset);
    }
    return back != 0;
}

}  // namespace rate_limit
