#include "core/machine/records/confirmed.h"

#include <algorithm>

#include "core/limit/clocks.h"

namespace rate_limit {

namespace {

/// Whether it is kept still: not if the clock has been set back since.
bool lasts(const ConfirmedRecord& record, Millis now) noexcept {
    return now < record.reset && !is_set_back(record.at, now);
}

}  // namespace

void note_confirmed(ConfirmedRecord& record, const Window& answer, Millis sent, Millis now) noexcept {
    std::int64_t used = answer.used;
    Millis at = now;
    if (lasts(record, now)) {
        if (sent <= record.at) {
            if (record.window.reset != answer.reset) {
                return;
            }
            used = std::max(used, record.window.used);
        }
        at = std::max(at, record.at);
    }
    record.window = {used, answer.reset};
    record.at = at;
    record.reset = now + confirmed_kept;
}

void make_void(ConfirmedRecord& record, Millis now) noexcept {
    record.window = {0, 0};
    record.at = now;
    record.reset = now + confirmed_kept;
}

std::optional<Window> confirmed_between(const ConfirmedRecord& record, Millis first, Millis last,
                                        std::int64_t period, Millis now) noexcept {
    const bool in_time = record.at >= first && record.at <= last;
    const bool counts = record.window.used <= most_used && is_open(record.window, period, now);
    return lasts(record, now) && in_time && counts ? std::optional<Window>(record.window) : std::nullopt;
}

}  // namespace rate_limit
