#include "core/machine/reading.h"

namespace rate_limit {

// How a reading lies in a record: `reset` is when it ends, `confirmed` tells that it is answered, `used` is
// the window's, and the window's own reset is in `asked` (the low half) and `changed`.

namespace {

constexpr int half = 32;

/// Workers read the clock once in a turn of their event loops, so that one may be behind another.
constexpr Millis clocks_apart = 100;

/// Whether the record still lasts: not if the clock has been set back since.
bool lasts(const WindowRecord& record, Millis now, Millis most) noexcept {
    return now < record.reset && record.reset - now <= most + clocks_apart;
}

}  // namespace

std::optional<Window> known_reading(const WindowRecord& record, Millis now) noexcept {
    if (!record.confirmed || !lasts(record, now, reading_kept)) {
        return std::nullopt;
    }
    const std::uint64_t reset = std::uint64_t{record.changed} << half | record.asked;
    return Window{record.used, static_cast<Millis>(reset)};
}

bool begin_reading(WindowRecord& record, Millis now, Millis patience) noexcept {
    if (!record.confirmed && lasts(record, now, patience)) {
        return false;
    }
    record.reset = now + patience;
    record.confirmed = false;
    record.truth = Truth::redis;
    return true;
}

void end_reading(WindowRecord& record, const Window& answer, Millis now) noexcept {
    const auto reset = static_cast<std::uint64_t>(answer.reset);
    record.reset = now + reading_kept;
    record.confirmed = true;
    record.limit =
        static_cast<std::uint64_t>(max_limit);  // so that its share is small, and it gives way first
    record.used = answer.used;
    record.asked = static_cast<std::uint32_t>(reset);
    record.changed = static_cast<std::uint32_t>(reset >> half);
}

void give_up_reading(WindowRecord& record) noexcept {
    record.reset = 0;
}

}  // namespace rate_limit
