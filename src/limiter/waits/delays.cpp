#include "limiter/waits/delays.h"

#include <algorithm>

namespace rate_limit {

namespace {

constexpr MsecDifference longest_timer = 86'400'000;

}  // namespace

bool Delays::is_before(const Delay& a, const Delay& b) noexcept {
    return a.due_ != b.due_ ? static_cast<MsecDifference>(a.due_ - b.due_) < 0 : a.number_ < b.number_;
}

void Delays::put(std::size_t place, Delay& delay) noexcept {
    heap_[place - 1] = &delay;
    delay.place_ = place;
}

/// Puts it to this place, or nearer to the first.
void Delays::rise(std::size_t place, Delay& delay) noexcept {
    while (place > 1 && is_before(delay, *heap_[place / 2 - 1])) {
        put(place, *heap_[place / 2 - 1]);
        place /= 2;
    }
    put(place, delay);
}

/// Puts it to this place, or further from the first.
void Delays::sink(std::size_t place, Delay& delay) noexcept {
    for (std::size_t child = 2 * place; child <= heap_.size(); child = 2 * place) {
        if (child < heap_.size() && is_before(*heap_[child], *heap_[child - 1])) {
            ++child;
        }
        if (!is_before(*heap_[child - 1], delay)) {
            break;
        }
        put(place, *heap_[child - 1]);
        place = child;
    }
    put(place, delay);
}

bool Delays::add(Delay& delay, Msec wait) noexcept {
    try {
        heap_.push_back(&delay);
    } catch (...) {
        return false;
    }
    delay.due_ = msec_now() + wait;
    delay.number_ = ++added_;
    rise(heap_.size(), delay);
    if (delay.place_ == 1) {
        arm();
    }
    return true;
}

void Delays::take_out(Delay& delay) noexcept {
    const std::size_t place = delay.place_;
    Delay& last = *heap_.back();
    heap_.pop_back();
    delay.place_ = 0;
    if (&last != &delay) {
        is_before(last, delay) ? rise(place, last) : sink(place, last);
    }
}

void Delays::remove(Delay& delay) noexcept {
    const bool was_first = delay.place_ == 1;
    take_out(delay);
    if (was_first) {
        arm();
    }
}

/// Those that go on may begin other delays, or end some.
void Delays::let_pass() noexcept {
    const Msec now = msec_now();
    for (std::size_t passed = 0; passed < most_a_turn && !heap_.empty(); ++passed) {
        Delay& first = *heap_.front();
        if (static_cast<MsecDifference>(first.due_ - now) > 0) {
            break;
        }
        take_out(first);
        first.delay_passed();
    }
    arm();
}

/// One that is due fires in the next turn: within this one a timer that is due would fire again at once. One
/// that is due in days is looked at meanwhile, as a loop may wait less than a timer can say.
void Delays::arm() noexcept {
    if (heap_.empty()) {
        timer_.clear();
        return;
    }
    const auto left = static_cast<MsecDifference>(heap_.front()->due_ - msec_now());
    timer_.set(static_cast<Msec>(std::clamp<MsecDifference>(left, 1, longest_timer)));
}

}  // namespace rate_limit
