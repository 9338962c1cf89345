#include "limiter/waits/deadlines.h"

#include <algorithm>

#include "core/wait_steps.h"
#include "limiter/turn_clock.h"

namespace rate_limit {

Deadlines::Deadlines(Msec check_timeout, Owner& owner) noexcept : owner_(owner), waits_{check_timeout} {
    for (Wait wait = 1; wait < waits; ++wait) {
        waits_[wait] = length_of_step(wait);
    }
}

std::optional<Deadlines::Wait> Deadlines::if_shorter(Wait wait) const noexcept {
    return wait < waits && waits_[wait] < waits_[whole] ? std::optional(wait) : std::nullopt;
}

std::optional<Deadlines::Wait> Deadlines::wait_of(Msec least) const noexcept {
    return if_shorter(step_of_at_least(least));
}

std::optional<Deadlines::Wait> Deadlines::wait_within(Msec most) const noexcept {
    return if_shorter(std::min(step_of_at_most(most), waits - 1));
}

/// How many milliseconds are left to one in this queue.
MsecDifference Deadlines::left(Wait wait, const Deadline& deadline, Msec now) const noexcept {
    return static_cast<MsecDifference>(deadline.started_ + waits_[wait] - now);
}

void Deadlines::start(Deadline& deadline, Wait wait) noexcept {
    deadline.started_ = msec_now();
    deadline.put_off_ = 0;
    queues_[wait].push(deadline);
    if (++waiting_ == 1 || !timer_.armed() || left(wait, deadline, timer_.due()) < 0) {
        timer_.set(waits_[wait]);
    }
}

bool Deadlines::is_overdue(Msec now) const noexcept {
    for (std::size_t i = 0; i < waits; ++i) {
        if (!queues_[i].empty() && left(i, queues_[i].front(), now) <= 0) {
            return true;
        }
    }
    return false;
}

/// Answers that lie in the sockets are read before any deadline is judged.
void Deadlines::judge() noexcept {
    const Msec now = msec_now();
    const Msec grace = grace_after(timer_, waits_[whole]);
    if (is_overdue(now)) {
        owner_.read_now();
        if (grace != 0) {
            put_off(now, grace);
        }
        pass(now);
    }
    arm(now);
}

/// All that is overdue, and has not been put off before, is due in `most` milliseconds; it is not put off for
/// longer than it waits, so that nothing that begins later is due before. It moves behind what is due by
/// then, so that its queue stays sorted.
void Deadlines::put_off(Msec now, Msec most) noexcept {
    for (std::size_t i = 0; i < waits; ++i) {
        const Msec grace = std::min(most, waits_[i]);
        const Msec started = now + grace - waits_[i];
        Waiting excused;
        Deadline* next = queues_[i].first();
        while (next != nullptr && left(i, *next, now) <= static_cast<MsecDifference>(grace)) {
            Deadline& deadline = *next;
            next = queues_[i].after(deadline);
            if (left(i, deadline, now) <= 0 && deadline.put_off_ == 0) {
                deadline.put_off_ = started - deadline.started_;
                deadline.started_ = started;
                Waiting::remove(deadline);
                excused.push(deadline);
            }
        }
        queues_[i].take_all_before(next, excused);
    }
}

/// Deadlines that begin meanwhile are not due yet.
void Deadlines::pass(Msec now) noexcept {
    for (std::size_t i = waits; i-- > 0;) {
        while (!queues_[i].empty() && left(i, queues_[i].front(), now) <= 0) {
            queues_[i].front().deadline_passed();
        }
    }
}

void Deadlines::arm(Msec now) noexcept {
    MsecDifference wait = -1;
    for (std::size_t i = 0; i < waits; ++i) {
        if (!queues_[i].empty()) {
            const MsecDifference next = std::max<MsecDifference>(left(i, queues_[i].front(), now), 1);
            wait = wait < 0 ? next : std::min(wait, next);
        }
    }
    if (wait > 0) {
        timer_.set(static_cast<Msec>(wait));
    }
}

}  // namespace rate_limit
