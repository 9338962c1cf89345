#include "core/machine/records/reading.h"

#include "core/limit/clocks.h"

namespace rate_limit {

namespace {

/// Whether the record still lasts: not if the clock has been set back since.
bool lasts(const ReadingRecord& record, Millis now, Millis most) noexcept {
    return now < record.reset && !is_set_back(record.reset - most, now);
}

}  // namespace

std::optional<Window> known_reading(const ReadingRecord& record, Millis now) noexcept {
    const bool known = record.answered && lasts(record, now, reading_kept);
    return known ? std::optional<Window>(record.window) : std::nullopt;
}

bool begin_reading(ReadingRecord& record, Millis now, Millis patience) noexcept {
    if (!record.answered && lasts(record, now, patience)) {
        return false;
    }
    record.reset = now + patience;
    record.answered = false;
    return true;
}

void end_reading(ReadingRecord& record, const Window& answer, Millis now) noexcept {
    record.reset = now + reading_kept;
    record.answered = true;
    record.window = answer;
}

void give_up_reading(ReadingRecord& record) noexcept {
    record.reset = 0;
}

}  // namespace rate_limit
