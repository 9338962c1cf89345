#include "limiter/concurrency/entrance.h"

namespace rate_limit {

void Entrance::begin(Deadlines& deadlines, ShardCounters& counters, const KeySlots& of,
                     Owner& owner) noexcept {
    of_ = of;
    Answer::begin(deadlines, Stage::whole, &counters, owner);
}

void Entrance::cancel() noexcept {
    if (waiting()) {
        leave_queue();
        stop();
    }
}

void Entrance::deadline_passed() noexcept {
    fail(too_late);
}

void Entrance::stand_in(Queue<Entrance>& queue) noexcept {
    queue.push(*this);
    queued_ = true;
}

void Entrance::leave_queue() noexcept {
    if (queued_) {
        Queue<Entrance>::remove(*this);
        queued_ = false;
    }
}

void Entrance::finish(bool enters, const Window& window) noexcept {
    leave_queue();
    granted_ = enters ? 1 : 0;
    window_ = window;
    end(nullptr);
}

void Entrance::fail(const char* reason) noexcept {
    leave_queue();
    end(reason);
}

}  // namespace rate_limit
