#pragma once

#include <cstdint>

#include "core/queue.h"
#include "limiter/waits/answer.h"

namespace rate_limit {

/// The part in a grant of one who waits, with others, for what one call under way brings. `Part` is the class
/// itself, which stands in the queue of that call, or in none.
template <typename Part>
class SharedGrant : public Grant, public Place<Part> {
public:
    void cancel() noexcept override {
        if (waiting()) {
            give_up();
            stop();
        }
    }

protected:
    SharedGrant() = default;
    ~SharedGrant() = default;

    void join(Queue<Part>& queue) noexcept {
        queue.push(static_cast<Part&>(*this));
        stands_ = true;
    }

    /// It stands in no queue any more.
    void leave() noexcept {
        if (stands_) {
            Queue<Part>::remove(static_cast<Part&>(*this));
            stands_ = false;
        }
    }

    /// The call has brought it so much of the limit, or 0; then `window` shows why.
    void serve(std::int64_t granted, const Window& window) noexcept {
        leave();
        granted_ = granted;
        window_ = window;
        end(nullptr);
    }

    void fail(const char* why) noexcept {
        leave();
        end(why);
    }

private:
    void deadline_passed() noexcept override {
        give_up();
        end(too_late);
    }

    void give_up() noexcept {
        leave();
        on_give_up();
    }

    /// It has left before the call came to an end.
    virtual void on_give_up() noexcept {}

    bool stands_ = false;
};

}  // namespace rate_limit
