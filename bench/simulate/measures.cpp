#include "bench/simulate/measures.h"

#include <algorithm>

namespace rate_limit::simulated {

/// Null: of a window that was closed long ago.
Measures::Counted* Measures::find(Key key, Millis reset) {
    Windows& windows = windows_[key];
    if (reset > windows.now.reset) {
        close(windows.before);
        windows.before = windows.now;
        windows.now = {reset, 0, 0};
    }
    return reset == windows.now.reset      ? &windows.now
           : reset == windows.before.reset ? &windows.before
                                           : nullptr;
}

void Measures::admit(Key key, Millis reset, Micros now) {
    ++admitted;
    Counted* window = is_exact(way_) ? find(key, reset) : nullptr;
    if (window != nullptr) {
        ++window->cost;
        if (window->rejected_since != 0) {
            longest_unspent = std::max(longest_unspent, now - window->rejected_since);
        }
    }
}

void Measures::stored(Key key, const Window& stored) {
    Counted* window = is_exact(way_) ? nullptr : find(key, stored.reset);
    if (window != nullptr) {
        in_doubt -= stored.used - window->cost;
        window->cost = stored.used;
    }
}

void Measures::rejected(Key key, Millis reset, Micros now) {
    ++rejections;
    Counted* window = find(key, reset);
    if (window == nullptr) {
        return;
    }
    const std::int64_t unspent =
        is_exact(way_) ? std::max<std::int64_t>(0, setup_.rate.limit - window->cost) : 0;
    unfair += unspent != 0 ? 1 : 0;
    if (window->rejected_since == 0) {
        window->rejected_since = now;
        ++windows_reached;
        unspent_then += unspent;
        most_unspent_then = std::max(most_unspent_then, unspent);
    }
}

void Measures::close(const Counted& window) {
    if (window.reset == 0) {
        return;
    }
    ++windows_counted;
    const std::int64_t beyond = window.cost - setup_.rate.limit;
    over += std::max<std::int64_t>(0, beyond);
    most_over = std::max(most_over, beyond);
    unspent_at_last += is_exact(way_) && window.rejected_since != 0 ? std::max<std::int64_t>(0, -beyond) : 0;
}

void Measures::finish() {
    for (const Windows& windows : windows_) {
        close(windows.before);
        close(windows.now);
    }
    windows_.clear();
}

}  // namespace rate_limit::simulated
