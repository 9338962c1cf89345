#include "core/machine/records/penalty.h"

#include <algorithm>
#include <cstring>

namespace rate_limit {

namespace {

/// Milliseconds after which the store is asked again about a penalty that runs.
constexpr Millis ask_stored_after = 10'000;
constexpr Millis ask_unstored_after = 1000;

/// So many milliseconds it is kept that none runs.
constexpr Millis free_is_known_for = 60'000;

float amount_of(std::uint32_t bits) noexcept {
    float amount = 0;
    std::memcpy(&amount, &bits, sizeof amount);
    return amount;
}

std::uint32_t bits_of(float amount) noexcept {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &amount, sizeof bits);
    return bits;
}

/// Lets the latest slot be that of `now`.
void turn_slot(PenaltyRecord& record, Millis now) noexcept {
    constexpr unsigned bits_of_slot = 9;  // of milliseconds
    constexpr std::uint32_t slots = 1U << 27U;
    const auto slot = static_cast<std::uint32_t>(now >> bits_of_slot) % slots;
    if (record.slot != slot) {
        record.freed_before = (record.slot + 1) % slots == slot ? record.freed : 0;
        record.freed = 0;
        record.slot = slot;
    }
}

void set_until(PenaltyRecord& record, Millis until, Millis now) noexcept {
    record.until = until;
    record.asked = now;
    record.reset = std::max(record.reset, until);
}

}  // namespace

bool begin_penalty(PenaltyRecord& record, Truth truth, Millis now, Millis life) noexcept {
    if (runs(record, now)) {
        return false;
    }
    set_until(record, now + life, now);
    record.truth = truth;
    record.stored = false;
    return true;
}

void learn_penalty(PenaltyRecord& record, Millis until, Millis now) noexcept {
    if (!runs(record, now)) {
        set_until(record, until, now);
        record.truth = Truth::redis;
        record.stored = true;
    }
}

void confirm_penalty(PenaltyRecord& record, Millis until, bool ended, Millis now) noexcept {
    if (!runs(record, now)) {
        return;
    }
    record.stored = until != 0;
    if (ended) {
        end_penalty(record, now);
    } else if (until != 0) {
        set_until(record, until, now);
    }
}

void note_free(PenaltyRecord& record, Millis now) noexcept {
    if (!runs(record, now)) {
        end_penalty(record, now);
    }
}

void end_penalty(PenaltyRecord& record, Millis now) noexcept {
    set_until(record, 0, now);
    record.reset = std::max(record.reset, now + free_is_known_for);
}

bool takes_turn(PenaltyRecord& record, Millis now) noexcept {
    const Millis wait = record.stored ? ask_stored_after : ask_unstored_after;
    if (record.truth == Truth::local || (now - record.asked < wait && !is_set_back(record.asked, now))) {
        return false;
    }
    record.asked = now;
    return true;
}

bool is_known_free(const PenaltyRecord& record, Millis now, Millis freshness) noexcept {
    return !runs(record, now) && record.asked != 0 && now - record.asked <= freshness &&
           !is_set_back(record.asked, now);
}

void hold(PenaltyRecord& record, std::uint32_t span, Millis reset, std::int64_t cost) noexcept {
    record.pending = record.span == span ? record.pending + cost : cost;
    record.span = span;
    record.reset = std::max(record.reset, reset);
}

void release(PenaltyRecord& record, std::uint32_t span, std::int64_t cost, std::int64_t freed,
             Millis now) noexcept {
    if (record.span == span) {
        record.pending -= std::min(cost, record.pending);
    }
    if (freed > 0) {
        turn_slot(record, now);
        record.freed = bits_of(amount_of(record.freed) + static_cast<float>(freed));
    }
}

double may_be_free(const PenaltyRecord& record, std::uint32_t span, Millis now) noexcept {
    PenaltyRecord seen = record;
    turn_slot(seen, now);
    const auto held = static_cast<double>(record.span == span ? record.pending : 0);
    return held + static_cast<double>(amount_of(seen.freed) + amount_of(seen.freed_before));
}

}  // namespace rate_limit
