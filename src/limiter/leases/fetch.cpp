#include "limiter/leases/fetch.h"

namespace rate_limit {

void Seat::leave() noexcept {
    if (fetch_ != nullptr) {
        fetch_->unclaimed += demand_->want;
        fetch_ = nullptr;
        Queue<Seat>::remove(*this);
    }
}

void Seat::cancel() noexcept {
    if (waiting()) {
        leave();
        stop();
    }
}

void Seat::deadline_passed() noexcept {
    leave();
    end(too_late);
}

void Seat::fail(const char* reason) noexcept {
    fetch_ = nullptr;
    end(reason);
}

/// Gives the request its tokens, or none; then `window` shows why.
void Seat::serve(std::int64_t tokens, const Window& window) noexcept {
    fetch_ = nullptr;
    granted_ = tokens;
    window_ = window;
    end(nullptr);
}

}  // namespace rate_limit
