#include "limiter/kinds/slots.h"
#include "limiter/modes/mode.h"
#include "limiter/store/store.h"
#include "limiter/zone.h"

namespace rate_limit {

namespace {

/// Counts requests that run on this machine.
class LocalSlots : public Mode {
public:
    constexpr LocalSlots() noexcept : Mode(slots_kind) {}

    bool recalls_first(const AppliedLimit& /*applied*/, bool alone) const noexcept override { return !alone; }
    Recalled recall(AppliedLimit& applied, Millis now) const noexcept override;
    Admission admit(AppliedLimit& applied, Millis now) const noexcept override;
    void enter_anyway(AppliedLimit& applied, Millis now) const noexcept override;
    void leave(AppliedLimit& applied, Millis now) const noexcept override;
};

/// Recalls only if other limits apply too, which need not be asked where this one refuses the request.
Recalled LocalSlots::recall(AppliedLimit& applied, Millis now) const noexcept {
    show_running(applied, now);
    const bool full = applied.verdict.window.used >= applied.verdict.rate.limit;
    applied.verdict.known = full;
    return full ? Recalled::used_up : Recalled::nothing;
}

Admission LocalSlots::admit(AppliedLimit& applied, Millis now) const noexcept {
    return enter_running(applied, Truth::local, now);
}

void LocalSlots::enter_anyway(AppliedLimit& applied, Millis now) const noexcept {
    auto slots = applied.zone->slots();
    if (slots && slots->enter_anyway(applied.id, slots_terms(applied, Truth::local, now))) {
        applied.holding = {Holding::Kind::slot, 0, 0, 0};
    }
}

void LocalSlots::leave(AppliedLimit& applied, Millis now) const noexcept {
    auto slots = applied.take_holding().kind == Holding::Kind::slot ? applied.zone->slots() : std::nullopt;
    if (slots) {
        (void)slots->leave(applied.id, slots_terms(applied, Truth::local, now));  // there is no store to call
    }
}

/// Counts requests that run on any machine: each holds slots in Redis, which its requests take without
/// asking.
class RedisSlots final : public LocalSlots {
public:
    bool recalls_first(const AppliedLimit& /*applied*/, bool /*alone*/) const noexcept override {
        return true;
    }
    Recalled recall(AppliedLimit& applied, Millis now) const noexcept override;
    void ask(AppliedLimit& applied, Answer::Owner& owner) const noexcept override;
    void enter_anyway(AppliedLimit& applied, Millis now) const noexcept override;
    Admission admit(AppliedLimit& applied, Millis now) const noexcept override;
    void leave(AppliedLimit& applied, Millis now) const noexcept override;
};

Recalled RedisSlots::recall(AppliedLimit& applied, Millis now) const noexcept {
    switch (enter_running(applied, Truth::redis, now)) {
        case Admission::admitted:
            return Recalled::admitted;
        case Admission::refused:
            return Recalled::used_up;
        case Admission::unchecked:
            break;
    }
    return Recalled::nothing;
}

void RedisSlots::ask(AppliedLimit& applied, Answer::Owner& owner) const noexcept {
    applied.shard().holds().enter(applied.asked.emplace<Entrance>(), slots_of(applied), owner);
}

Admission RedisSlots::admit(AppliedLimit& applied, Millis now) const noexcept {
    if (applied.answer()->failure() != nullptr) {
        applied.failure = applied.answer()->failure();
        return Admission::unchecked;
    }
    show_running(applied, applied.answer()->window().used, now);
    if (applied.take_granted() == 0) {
        return Admission::refused;
    }
    applied.holding = {Holding::Kind::slot, 0, 0, 0};
    return Admission::admitted;
}

void RedisSlots::enter_anyway(AppliedLimit& applied, Millis now) const noexcept {
    LocalSlots::enter_anyway(applied, now);
    note_running(applied);
}

/// A request that was let in and never learned of it leaves, too.
void RedisSlots::leave(AppliedLimit& applied, Millis /*now*/) const noexcept {
    const bool holds = applied.take_holding().kind == Holding::Kind::slot;
    if (applied.take_granted() != 0 || holds) {
        applied.shard().holds().leave(slots_of(applied));
    }
}

const LocalSlots local_slots;
const RedisSlots redis_slots;

}  // namespace

extern const NamedMode concurrency_mode = {
    "concurrency", redis_slots, local_slots,
    nullptr,       nullptr,     "a greater number, or a key that tells clients apart, asks less"};

}  // namespace rate_limit
