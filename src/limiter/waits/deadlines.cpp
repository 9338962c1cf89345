#include "limiter/waits/deadlines.h"

#include "limiter/turn_clock.h"

namespace rate_limit {

Deadlines::Deadlines(Msec check_timeout, Owner& owner) noexcept
    : owner_(owner), waits_{check_timeout / 3, check_timeout * 2 / 3, check_timeout, check_timeout} {}

/// How many milliseconds are left to one in this stage.
MsecDifference Deadlines::left(std::size_t stage, const Deadline& deadline, Msec now) const noexcept {
    return static_cast<MsecDifference>(deadline.started_ + waits_[stage] - now);
}

void Deadlines::add(Deadline& deadline, Stage stage) noexcept {
    const auto index = static_cast<std::size_t>(stage);
    queues_[index].push(deadline);
    ++waiting_;
    timer_.keep_worker(true);
    if (!timer_.armed() || left(index, deadline, timer_.due()) < 0) {
        arm(msec_now());
    }
}

bool Deadlines::is_overdue(Msec now) const noexcept {
    for (std::size_t i = 0; i < stages; ++i) {
        if (!queues_[i].empty() && left(i, queues_[i].front(), now) <= 0) {
            return true;
        }
    }
    return false;
}

/// Answers that lie in the sockets are read before any deadline is judged.
void Deadlines::judge() noexcept {
    const Msec now = msec_now();
    const Msec grace = grace_after(timer_, waits_.back());
    if (is_overdue(now)) {
        owner_.read_now();
        if (grace != 0) {
            put_off(now, grace);
        }
        pass(now);
    }
    arm(now);
}

/// All that is overdue, and has not been put off before, is due in `most` milliseconds; a part of
/// check_timeout is not put off for longer than it lasts, so that nothing that begins later is due before. It
/// moves behind what is due by then, so that its queue stays sorted.
void Deadlines::put_off(Msec now, Msec most) noexcept {
    for (std::size_t i = 0; i < stages; ++i) {
        const bool part = i != static_cast<std::size_t>(Stage::whole);
        const Msec grace = part ? std::min(most, waits_.front()) : most;
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

/// Last stage first: nothing moves through more than one stage in one call.
void Deadlines::pass(Msec now) noexcept {
    for (std::size_t i = stages; i-- > 0;) {
        while (!queues_[i].empty() && left(i, queues_[i].front(), now) <= 0) {
            queues_[i].front().deadline_passed();
        }
    }
}

void Deadlines::arm(Msec now) noexcept {
    MsecDifference wait = -1;
    for (std::size_t i = 0; i < stages; ++i) {
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
