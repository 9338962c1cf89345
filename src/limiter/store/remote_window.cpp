#include "limiter/store/remote_window.h"

#include "limiter/zone.h"

namespace rate_limit {

Terms RemoteWindow::terms_at(Millis now) const noexcept {
    return {rate, Truth::redis, propose_reset(kind, rate.period, now), now};
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
    return answer != nullptr ? window_elsewhere(record, terms_at(now), *answer)
                             : Window{record.used, record.reset};
}

std::int64_t RemoteWindow::learn(const Window& answer, Millis now) const noexcept {
    const Terms terms = terms_at(now);
    std::int64_t used = is_open(answer, rate.period, now) ? answer.used : 0;
    (void)zone->windows().update(id, now, [&](WindowRecord& record) {
        learn_elsewhere(record, terms, answer);
        used = record.used;
    });
    return used;
}

}  // namespace rate_limit
