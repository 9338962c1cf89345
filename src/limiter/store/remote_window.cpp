#include "limiter/store/remote_window.h"

#include <algorithm>

#include "limiter/zone.h"

namespace rate_limit {

/// The next window counts where the region here has opened it already, as this machine's clock is behind.
Terms RemoteWindow::terms_at(const Window& here, Millis now) const noexcept {
    const Millis proposed = propose_reset(kind, rate.period, now);
    return {rate, Truth::redis, is_open(here, rate.period, now) ? std::max(here.reset, proposed) : proposed,
            now};
}

std::optional<WindowRecord> RemoteWindow::recall(Millis now) const noexcept {
    auto record = zone->windows().find<WindowRecord>(id);
    if (record && !is_open(*record, rate.period, now)) {
        record.reset();
    }
    return record;
}

Window RemoteWindow::seen(const Window* answer, Millis now) const noexcept {
    const WindowRecord record = recall(now).value_or(WindowRecord{});
    return answer != nullptr ? window_elsewhere(record, terms_at({}, now), *answer)
                             : Window{record.used, record.reset};
}

std::int64_t RemoteWindow::learn(const Window& answer, const Window& here, Millis now) const noexcept {
    const Terms terms = terms_at(here, now);
    std::int64_t used = window_elsewhere({}, terms, answer).used;
    (void)zone->windows().update(id, now, [&](WindowRecord& record) {
        learn_elsewhere(record, terms, answer);
        used = record.used;
    });
    return used;
}

}  // namespace rate_limit
