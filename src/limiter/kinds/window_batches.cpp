#include <algorithm>

#include "core/free_list.h"
#include "core/machine/windows/tokens.h"
#include "limiter/kinds/batches.h"
#include "limiter/leases/fetches.h"
#include "limiter/zone.h"

namespace rate_limit {

namespace {

class WindowBatches final : public BatchKind {
public:
    bool gives_way(const Fetch& open, const Demand& more) const noexcept override;
    void size_up(Fetches& of, Fetch& fetch, bool batched) const noexcept override;
    void end(Fetches& of, const Fetch& fetch) const noexcept override;
    void hand_out(Fetches& of, Fetch& fetch, std::int64_t granted,
                  const Window& answer) const noexcept override;
};

constexpr WindowBatches of_windows;

Terms terms_of(const Fetch& fetch, Millis now) noexcept {
    const Demand& demand = fetch.demand;
    return {demand.rate, Truth::redis, propose_reset(demand.window_kind, demand.rate.period, now), now};
}

/// Hands out through the window's record, under one lock, so that each request that has a seat gets its
/// tokens. False without room in the memory, or when Redis is in another window.
bool hand_out_here(Fetches& of, const Fetch& fetch, std::int64_t granted, const Window& answer,
                   Sharing& sharing) noexcept {
    const Millis now = now_millis();
    const Terms terms = terms_of(fetch, now);
    const Question question = of.charges().question(fetch.demand.id, fetch.events, fetch.known);
    bool kept = false;
    std::int64_t lost = 0;
    (void)of.zone().windows().update(fetch.demand.id, now, [&](WindowRecord& record) {
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
    of.counters().add(TokenEvent::lost, lost);
    return kept;
}

/// Hands out without the record: what is left goes back to the primary at once.
void hand_out_there(Fetches& of, const Fetch& fetch, std::int64_t granted, const Window& answer,
                    Sharing& sharing) noexcept {
    std::int64_t left = granted;
    sharing.serve_from(left);
    sharing.used = answer.used - left;
    if (left != 0) {
        of.hoard().refund(fetch.key, fetch.demand, left, answer.reset);
    }
}

}  // namespace

const BatchKind& window_batches = of_windows;

bool WindowBatches::gives_way(const Fetch& open, const Demand& /*more*/) const noexcept {
    return open.is_short();
}

/// More than are needed at once only if no other batch is on its way, if they can be kept and given back
/// later, and if this worker stays.
void WindowBatches::size_up(Fetches& of, Fetch& fetch, bool batched) const noexcept {
    Demand& demand = fetch.demand;
    const std::int64_t needed = demand.want;
    const Millis now = now_millis();
    const Terms terms = terms_of(fetch, now);
    std::int64_t here = 0;
    std::int64_t size = 0;
    Millis reset = terms.proposed;
    const bool room = of.zone().windows().update(demand.id, now, [&](WindowRecord& record) {
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
    demand.least = std::max<std::int64_t>(1, needed - here);
    demand.want = demand.least;
    fetch.unclaimed = needed;
    if (batched && size < needed) {
        of.close(fetch);  // larger than a batch: for itself
    } else if (batched && room && size > needed && of.hoard().note(fetch.key, demand, reset, 0, now)) {
        demand.want = size;
        fetch.unclaimed = size;
        of.number_batch(fetch);
    }
}

void WindowBatches::end(Fetches& of, const Fetch& fetch) const noexcept {
    of.zone().windows().change(fetch.demand.id, end_fetch);
}

/// A request asks again if it got too little although the primary has enough, or if its tokens came after
/// their window had ended.
void WindowBatches::hand_out(Fetches& of, Fetch& fetch, std::int64_t granted,
                             const Window& answer) const noexcept {
    const Millis now = now_millis();
    const bool live = is_open(answer, fetch.demand.rate.period, now);
    Sharing sharing(fetch);
    of.counters().add(TokenEvent::fetched, granted);
    if (!hand_out_here(of, fetch, granted, answer, sharing)) {
        of.counters().add(TokenEvent::lost, live ? 0 : granted);
        hand_out_there(of, fetch, live ? granted : 0, answer, sharing);
    } else if (granted > sharing.handed_out) {
        of.hoard().keep(fetch.key, fetch.demand, answer.reset, granted - sharing.handed_out, now);
    }
    FreeList<Fetch>::common().put_back(fetch);
    const bool too_late = !live && granted != 0;
    Window shown{sharing.used - sharing.handed_out, answer.reset};
    of.tell(
        sharing,
        [&shown](std::int64_t want) {
            const Window before = shown;
            shown.used += want;
            return before;
        },
        [&](const Demand& demand) {
            const std::int64_t missing = demand.want - sharing.left_here;
            return too_late || (missing > 0 && missing <= demand.rate.limit - answer.used);
        });
}

}  // namespace rate_limit
