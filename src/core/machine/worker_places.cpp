#include "core/machine/worker_places.h"

namespace rate_limit {

std::optional<std::size_t> WorkerPlaces::take(const LockUser& user) noexcept {
    find_dead(user.is_alive);
    const std::uint64_t self = OwnedLock::word_of(user.self);
    for (std::size_t i = 0; i < most; ++i) {
        std::uint64_t free = 0;
        if (!places_[i].owner.compare_exchange_strong(free, self)) {
            continue;
        }
        set_changing(i, 0);  // the one before may have died in the middle of a change
        std::uint32_t end = end_.load();
        while (end <= i && !end_.compare_exchange_weak(end, static_cast<std::uint32_t>(i) + 1)) {
        }
        return i;
    }
    return std::nullopt;
}

void WorkerPlaces::leave(std::size_t place) noexcept {
    give_up(places_[place], owner_of(place));
}

bool WorkerPlaces::find_dead(IsAlive is_alive) noexcept {
    bool found = false;
    for (std::size_t i = 0; i < end(); ++i) {
        const std::uint64_t owner = owner_of(i);
        if (owner != 0 && (owner == nobody_yet || !is_alive(OwnedLock::owner_of(owner)))) {
            give_up(places_[i], owner);
            found = true;
        }
    }
    return found;
}

void WorkerPlaces::give_up(Place& place, std::uint64_t owner) noexcept {
    if (owner != nobody_yet && !place.owner.compare_exchange_strong(owner, nobody_yet)) {
        return;  // another process was first
    }
    deaths_.fetch_add(1);
    owner = nobody_yet;
    place.owner.compare_exchange_strong(owner, 0);
}

}  // namespace rate_limit
