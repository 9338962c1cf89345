#include "core/machine/workers/worker_places.h"

#include "core/limit/clocks.h"

namespace rate_limit {

bool WorkerPlaces::use(void* memory, std::size_t bytes) noexcept {
    header_ = static_cast<Header*>(memory);
    places_ = reinterpret_cast<Place*>(header_ + 1);
    most_ = places_in(bytes);
    return most_ != 0;
}

bool WorkerPlaces::take_correction() noexcept {
    const std::uint32_t now = header_->deaths.load();
    std::uint32_t corrected = header_->corrected.load();
    return corrected != now && header_->corrected.compare_exchange_strong(corrected, now);
}

bool WorkerPlaces::take_turn(std::uint32_t ticks, std::uint32_t period) noexcept {
    std::uint32_t looked = header_->looked.load();
    return since(looked, ticks) >= period && header_->looked.compare_exchange_strong(looked, ticks);
}

std::optional<std::size_t> WorkerPlaces::take(const LockUser& user) noexcept {
    find_dead(user.is_alive);
    const std::uint64_t self = OwnedLock::word_of(user.self);
    for (std::size_t i = 0; i < most_; ++i) {
        std::uint64_t free = 0;
        if (!places_[i].owner.compare_exchange_strong(free, self)) {
            continue;
        }
        set_changing(i, 0);  // the one before may have died in the middle of a change
        std::uint32_t end = header_->end.load();
        while (end <= i && !header_->end.compare_exchange_weak(end, static_cast<std::uint32_t>(i) + 1)) {
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
    header_->deaths.fetch_add(1);
    owner = nobody_yet;
    place.owner.compare_exchange_strong(owner, 0);
}

}  // namespace rate_limit
