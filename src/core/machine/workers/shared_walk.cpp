#include "core/machine/workers/shared_walk.h"

#include <algorithm>

#include "core/limit/clocks.h"

namespace rate_limit {

namespace {

constexpr unsigned upper_bits = 32;

std::uint64_t position_of(std::uint32_t began, std::size_t next) noexcept {
    return (std::uint64_t{began} << upper_bits) | next;
}

std::uint32_t began_of(std::uint64_t position) noexcept {
    return static_cast<std::uint32_t>(position >> upper_bits);
}

std::size_t next_of(std::uint64_t position) noexcept {
    return position & ((std::uint64_t{1} << upper_bits) - 1);
}

}  // namespace

SharedWalk::Slice SharedWalk::take(std::size_t sets, std::size_t most, std::uint32_t now,
                                   std::uint32_t interval) noexcept {
    std::uint64_t position = position_.load(std::memory_order_relaxed);
    for (;;) {
        std::size_t next = next_of(position);
        if (next >= sets && since(began_of(position), now) < interval) {
            return {};
        }
        next = next < sets ? next : 0;
        const bool anew = next == 0;
        const std::size_t end = std::min(sets, next + most);
        const std::uint64_t taken = position_of(anew ? now : began_of(position), end);
        if (position_.compare_exchange_weak(position, taken, std::memory_order_relaxed)) {
            if (anew) {
                found_before_.store(found_.exchange(false));
            }
            return {next, end};
        }
    }
}

std::uint32_t SharedWalk::pause(std::size_t sets, std::uint32_t now, std::uint32_t interval) const noexcept {
    const std::uint64_t position = position_.load(std::memory_order_relaxed);
    const Millis passed = since(began_of(position), now);
    return next_of(position) < sets || passed >= interval ? 0 : interval - static_cast<std::uint32_t>(passed);
}

void SharedWalk::note() noexcept {
    if (!found_.load()) {
        found_.store(true);
    }
}

bool SharedWalk::noted() const noexcept {
    return found_.load() || found_before_.load();
}

}  // namespace rate_limit
