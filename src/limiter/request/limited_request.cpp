#include "limiter/request/limited_request.h"

#include <algorithm>
#include <new>
#include <utility>

#include "limiter/request/penalties.h"
#include "limiter/zone.h"

namespace rate_limit {

AppliedLimit& LimitedRequest::add(const Limit& limit) noexcept {
    auto* verdict = new (&verdicts_[count_]) Verdict;
    auto* applied = new (&applied_[count_]) AppliedLimit(limit, uncounted, *verdict);
    verdict->name = limit.name;
    verdict->slots = !limit.kind->is_spent;
    has_slots_ = has_slots_ || verdict->slots;
    ++count_;
    return *applied;
}

void LimitedRequest::ask(AppliedLimit& applied) noexcept {
    ++pending_;
    if (applied.verdict.never_fits) {
        applied.asked.emplace<Read>().start(applied.shard(), applied.key, Read::From::primary, *this,
                                            applied.read_as());
    } else {
        applied.mode->ask(applied, *this);
    }
}

void LimitedRequest::ask_penalty(AppliedLimit& applied) noexcept {
    ++pending_;
    rate_limit::ask_penalty(applied, *this);
}

void LimitedRequest::ask_for_report(AppliedLimit& applied) noexcept {
    ++pending_;
    if (applied.elsewhere != nullptr) {
        applied.asked.emplace<RegionalRead>().start_shared(applied, applied.read_as(), *applied.elsewhere,
                                                           *this);
        return;
    }
    applied.store->shared_reads().read(applied.asked.emplace<SharedRead>(), applied.shard(), applied.key,
                                       applied.id, applied.read_as(), *this);
}

void LimitedRequest::give_back_all(bool left) noexcept {
    const bool held = !std::exchange(settled, true);
    const Millis now = now_millis();
    for (std::size_t i = 0; i < count_; ++i) {
        std::int64_t charged = 0;
        if (held && left) {
            charged = applied_[i].mode->leave_queue(applied_[i], now);
        } else if (held) {
            applied_[i].mode->settle(applied_[i], 0, now);
        }
        if (applied_[i].penalty != nullptr) {
            release_pending(applied_[i], charged, now);
            applied_[i].penalty->read.cancel();
        }
        if (Answer* answer = applied_[i].answer()) {
            answer->cancel();  // if the primary grants something later, that is given back, too
        }
    }
    leave_all();
}

void LimitedRequest::leave_all() noexcept {
    if (!has_slots_) {
        return;
    }
    const Millis now = now_millis();
    for (std::size_t i = 0; i < count_; ++i) {
        applied_[i].mode->leave(applied_[i], now);
        if (const auto running = std::exchange(applied_[i].running, std::nullopt)) {
            applied_[i].zone->uncount_running(*running);
        }
    }
}

void LimitedRequest::on_answer(Answer& answer) noexcept {
    for (std::size_t i = 0; i < count_; ++i) {
        if (applied_[i].answer() == &answer) {
            applied_[i].zone->windows().prefetch(
                applied_[i].id);  // the record reaches the cache while the worker reads other answers
        }
    }
    longest_ = std::max(longest_, answer.waited());
    if (--pending_ == 0 && !asking_) {
        on_wait_over();
    }
}

void LimitedRequest::end_wait() noexcept {
    store_time_ += longest_;
    longest_ = 0;
}

void LimitedRequest::stop_waiting() noexcept {
    if (!waiting()) {
        return;
    }
    for (std::size_t i = 0; i < count_; ++i) {
        if (Answer* answer = applied_[i].answer()) {
            answer->abandon();
        }
        if (applied_[i].penalty != nullptr) {
            applied_[i].penalty->read.abandon();
        }
    }
    if (Delay::waiting()) {
        Worker::current().part<Delays>().remove(*this);
        turn_ = msec_now();
        left_queue_ = true;
    }
}

bool LimitedRequest::begin_delay(Msec wait) noexcept {
    delay_began_ = turn_ = msec_now();
    return Worker::current().part<Delays>().add(*this, wait);
}

void LimitedRequest::delay_passed() noexcept {
    turn_ = msec_now();
    on_wait_over();
}

}  // namespace rate_limit
