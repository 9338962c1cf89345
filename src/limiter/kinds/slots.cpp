#include "limiter/kinds/slots.h"

#include "limiter/store/store.h"
#include "limiter/zone.h"

namespace rate_limit {

constexpr NamedKind running_slots{
    "slots",
    WindowKind::slots,
    slots_kind,
    "",       // by_mode
    "",       // open
    "",       // closed
    "slots",  // plural
    nullptr,  // without_burst
    &concurrency_mode,
    "number",  // amount
    "slots",   // shared
    "use up another user's slots",
    "The limit counts requests that run: nothing of it is used up, and there is nothing to give back. Slots "
    "are free when requests end, and 30 seconds after a machine is gone; \"allow\" lets the key pass until "
    "then.",
    false,  // has_period
    false,  // is_spent
    [](std::string_view text, WindowKind, Rate& rate) noexcept { return parse_slots(text, rate); }};

SlotsTerms slots_terms(const AppliedLimit& applied, Truth truth, Millis now) noexcept {
    const Millis patience =
        applied.store != nullptr ? static_cast<Millis>(applied.store->conf().check_timeout) : 0;
    return {applied.verdict.rate.limit, truth, Holds::ttl, patience, now};
}

void show_running(AppliedLimit& applied, std::int64_t used, Millis now) noexcept {
    applied.verdict.window = {used, propose_reset(WindowKind::slots, 1, now)};
    applied.verdict.known = true;
}

void show_running(AppliedLimit& applied, Millis now) noexcept {
    const Truth truth = applied.store != nullptr ? Truth::redis : Truth::local;
    const SlotsRecord record = applied.zone->windows().find<SlotsRecord>(applied.id).value_or(SlotsRecord{});
    show_running(applied, used(record, slots_terms(applied, truth, now)), now);
}

KeySlots slots_of(const AppliedLimit& applied) noexcept {
    return {applied.id, applied.key, applied.verdict.rate.limit, applied.limit.name};
}

void note_running(const AppliedLimit& applied) noexcept {
    if (applied.store != nullptr && applied.holding.kind == Holding::Kind::slot) {
        // Without room for the note it is told when another request of the key asks.
        (void)applied.shard().holds().note(slots_of(applied));
    }
}

Admission enter_running(AppliedLimit& applied, Truth truth, Millis now) noexcept {
    auto slots = applied.zone->slots();
    if (!slots) {
        applied.failure =
            "more workers count running requests than \"rate_limit_zone\" has places for: enlarge it";
        return Admission::unchecked;
    }
    const SlotsEntry entry = slots->enter(applied.id, slots_terms(applied, truth, now), Asking::later);
    switch (entry.outcome) {
        case SlotsOutcome::admitted:
            applied.holding = {Holding::Kind::slot, 0, 0, 0};
            show_running(applied, entry.used, now);
            return Admission::admitted;
        case SlotsOutcome::rejected:
            show_running(applied, entry.used, now);
            return Admission::refused;
        case SlotsOutcome::no_room:
            applied.failure = "no room in \"rate_limit_zone\": enlarge it";
            break;
        case SlotsOutcome::ask:
        case SlotsOutcome::wait:
            break;
    }
    return Admission::unchecked;
}

Admission SlotsKind::enter_unasked(AppliedLimit& applied, std::int64_t /*need*/, Millis now) const noexcept {
    const Admission admission = enter_running(applied, Truth::local, now);
    note_running(applied);
    return admission;
}

void SlotsKind::take_in(AppliedLimit& applied, const Window& /*answer*/, Millis now) const noexcept {
    show_running(applied, now);
}

bool SlotsKind::show_remembered(AppliedLimit& applied, Millis now) const noexcept {
    show_running(applied, now);
    return true;
}

}  // namespace rate_limit
