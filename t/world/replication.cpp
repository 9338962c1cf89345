#include "t/world/replication.h"

#include <algorithm>
#include <utility>

#include "t/world/redis.h"

namespace rate_limit::world {

namespace {

/// How often one that stalls, or whose replica does not run, tries again.
constexpr Micros again = 10'000;

}  // namespace

Replication::Replication(Events& events, Redis& from, Redis& to, Micros lag)
    : events_(events), from_(from), to_(to), lag_(lag) {
    to_.server().state.role = ServerRole::replica;
    begin_anew();
}

Replication::~Replication() {
    if (next_) {
        events_.cancel(*next_);
    }
}

void Replication::begin_anew() {
    on_way_.clear();
    to_.take_over(from_);
    to_.server().state.link_up = !cut_;
}

void Replication::send(const Effect& effect, const Written& written) {
    const Micros before = on_way_.empty() ? 0 : on_way_.back().arrives;
    on_way_.push_back({std::max(before, events_.now() + lag_), effect, written});
    if (!next_) {
        set(on_way_.front().arrives);
    }
}

void Replication::set(Micros when) {
    next_ = events_.at(when, [this] { arrive(); });
}

void Replication::arrive() {
    next_.reset();
    if (stalls_ || cut_ || !to_.runs()) {
        set(events_.now() + again);
        return;
    }
    while (!on_way_.empty() && on_way_.front().arrives <= events_.now()) {
        to_.apply(on_way_.front().effect);
        on_way_.pop_front();
    }
    if (!on_way_.empty()) {
        set(on_way_.front().arrives);
    }
}

void Replication::catch_up() {
    for (const Sent& sent : std::exchange(on_way_, {})) {
        to_.apply(sent.effect);
    }
}

void Replication::cut() {
    cut_ = true;
    to_.server().state.link_up = false;
}

void Replication::mend() {
    cut_ = false;
    to_.server().state.link_up = true;
}

}  // namespace rate_limit::world
