#include "t/world/events.h"

#include <algorithm>

namespace rate_limit::world {

Events::Place Events::at(Micros when, std::function<void()> what) {
    const Place place{std::max(when, now_), ++order_};
    waiting_.emplace(place, std::move(what));
    return place;
}

void Events::pass(Micros time) {
    const Micros until = now_ + time;
    while (!waiting_.empty() && waiting_.begin()->first.first <= until) {
        now_ = waiting_.begin()->first.first;
        const std::function<void()> what = std::move(waiting_.begin()->second);
        waiting_.erase(waiting_.begin());
        ++count_;
        what();
    }
    now_ = until;
}

}  // namespace rate_limit::world
