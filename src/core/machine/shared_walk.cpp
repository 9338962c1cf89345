#include "core/machine/shared_walk.h"

#include <algorithm>

namespace rate_limit {

namespace {

constexpr unsigned half = 32;

std::uint64_t place_of(std::uint32_t began, std::size_t next) noexcept {
    return (std::uint64_t{began} << half) | next;
}

std::uint32_t began_of(std::uint64_t place) noexcept {
    return static_cast<std::uint32_t>(place >> half);
}

std::size_t next_of(std::uint64_t place) noexcept {
    return place & ((std::uint64_t{1} << half) - 1);
}

}  // namespace

SharedWalk::Slice SharedWalk::take(std::size_t sets, std::size_t most, std::uint32_t now,
                                   std::uint32_t interval) noexcept {
    std::uint64_t place = memory_->place.load(std::memory_order_relaxed);
    for (;;) {
        std::size_t next = next_of(place);
        if (next >= sets && now - began_of(place) < interval) {
            return {};
        }
        next = next < sets ? next : 0;
        const bool anew = next == 0;
        const std::size_t end = std::min(sets, next + most);
        const std::uint64_t taken = place_of(anew ? now : began_of(place), end);
        if (memory_->place.compare_exchange_weak(place, taken, std::memory_order_relaxed)) {
            if (anew) {
                memory_->found_before.store(memory_->found.exchange(false));
            }
            return {next, end};
        }
    }
}

std::uint32_t SharedWalk::pause(std::size_t sets, std::uint32_t now, std::uint32_t interval) const noexcept {
    const std::uint64_t place = memory_->place.load(std::memory_order_relaxed);
    const std::uint32_t since = now - began_of(place);
    return next_of(place) < sets || since >= interval ? 0 : interval - since;
}

void SharedWalk::note() noexcept {
    if (!memory_->found.load()) {
        memory_->found.store(true);
    }
}

bool SharedWalk::noted() const noexcept {
    return memory_->found.load() || memory_->found_before.load();
}

}  // namespace rate_limit
