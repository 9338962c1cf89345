#include "core/window_table.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <new>

#include "core/eviction.h"

namespace rate_limit {

namespace {

constexpr std::uint64_t magic = 0x77696e646f777331;  // changes with the layout

constexpr std::size_t max_half = std::numeric_limits<std::uint32_t>::max();

/// Spreads 32 random bits evenly over `count` values.
std::size_t scale(std::uint32_t bits, std::size_t count) noexcept {
    return static_cast<std::size_t>((std::uint64_t{bits} * count) >> 32);
}

struct Victim {
    EvictionRank rank;
    unsigned slot = WindowSet::no_slot;
};

Victim victim_of(const WindowSet& set, Millis now) noexcept {
    Victim victim;
    for (unsigned slot = 0; slot < WindowSet::slots; ++slot) {
        if (!set.is_valid(slot)) {
            continue;
        }
        const EvictionRank rank = eviction_rank(set.at(slot), now);
        if (rank < victim.rank) {
            victim = {rank, slot};
        }
    }
    return victim;
}

}  // namespace

struct alignas(64) WindowTable::Header {
    std::atomic<std::uint64_t> ready;  // the magic number, once all the rest is there
    std::uint64_t size;
    HashKey key;
};

std::size_t WindowTable::bytes_for(std::size_t windows) noexcept {
    const std::size_t pair = std::size_t{WindowSet::capacity} * 2;
    const std::size_t half = std::max<std::size_t>(1, (windows + pair - 1) / pair);
    return sizeof(Header) + half * 2 * sizeof(WindowSet);
}

bool WindowTable::take_up(void* memory, std::size_t size) noexcept {
    static_assert(sizeof(Header) == 64, "sets begin on a cache line");
    if (memory == nullptr || reinterpret_cast<std::uintptr_t>(memory) % alignment != 0 ||
        size < bytes_for(1)) {
        return false;
    }
    header_ = static_cast<const Header*>(memory);
    sets_ = reinterpret_cast<WindowSet*>(static_cast<char*>(memory) + sizeof(Header));
    half_ = std::min((size - sizeof(Header)) / (2 * sizeof(WindowSet)), max_half);
    return true;
}

bool WindowTable::create(void* memory, std::size_t size, const HashKey& key) noexcept {
    if (!take_up(memory, size)) {
        return false;
    }
    auto* header = new (memory) Header{{0}, size, key};
    for (std::size_t i = 0; i < sets(); ++i) {
        new (sets_ + i) WindowSet;
    }
    header->ready.store(magic, std::memory_order_release);
    return true;
}

bool WindowTable::attach(void* memory, std::size_t size) noexcept {
    if (!take_up(memory, size)) {
        return false;
    }
    if (header_->ready.load(std::memory_order_acquire) == magic && header_->size == size) {
        return true;
    }
    header_ = nullptr;
    sets_ = nullptr;
    half_ = 0;
    return false;
}

WindowId WindowTable::id_of(std::string_view identity) const noexcept {
    const Hash128 hash = keyed_hash(header_->key, identity);
    return {hash.high, hash.low};
}

std::pair<std::size_t, std::size_t> WindowTable::sets_of(const WindowId& id) const noexcept {
    return {scale(static_cast<std::uint32_t>(id.high), half_),
            half_ + scale(static_cast<std::uint32_t>(id.high >> 32), half_)};
}

bool WindowTable::find_in(WindowSet& set, const WindowId& id, Place& place) noexcept {
    place.slot = set.find(id);
    place.set = &set;
    place.replaced = place.slot;
    return place.slot != WindowSet::no_slot;
}

/// Where the id is. If it is nowhere, both its sets are left locked: nobody can put it there meanwhile.
bool WindowTable::find_place(const WindowId& id, Place& place) noexcept {
    const auto [left_index, right_index] = sets_of(id);
    WindowSet& left = sets_[left_index];
    WindowSet& right = sets_[right_index];
    // An id is never in both, so where it is found under the lock, it is; one lock, most of the time.
    if (left.may_hold(id)) {
        place.left.acquire(left.lock(), user_);
        if (find_in(left, id, place)) {
            return true;
        }
        place.left.release();
    } else if (right.may_hold(id)) {
        place.right.acquire(right.lock(), user_);
        if (find_in(right, id, place)) {
            return true;
        }
        place.right.release();
    }
    // Everybody locks the left one first: sets of the first half before those of the second.
    place.left.acquire(left.lock(), user_);
    place.right.acquire(right.lock(), user_);
    return find_in(left, id, place) || find_in(right, id, place);
}

std::optional<WindowRecord> WindowTable::find(const WindowId& id) noexcept {
    Place place;
    if (!find_place(id, place)) {
        return std::nullopt;
    }
    return place.set->at(place.slot);
}

bool WindowTable::find_or_make_room(const WindowId& id, Millis now, Place& place) noexcept {
    if (find_place(id, place)) {
        return true;
    }
    const auto [left, right] = sets_of(id);
    return choose_room(sets_[left], sets_[right], now, place);
}

/// An open window gives way only where both sets are full of them.
bool WindowTable::choose_room(WindowSet& left, WindowSet& right, Millis now, Place& place) noexcept {
    const unsigned in_left = left.open(now);
    const unsigned in_right = right.open(now);
    place.set = in_right < in_left ? &right : &left;
    if (place.set->size() < WindowSet::capacity) {
        return true;
    }
    Victim victim = victim_of(*place.set, now);
    if (std::min(in_left, in_right) == WindowSet::capacity) {
        const Victim other = victim_of(right, now);
        if (other.rank < victim.rank) {
            victim = other;
            place.set = &right;
        }
    }
    place.replaced = victim.slot;
    return victim.slot != WindowSet::no_slot;
}

void WindowTable::keep(const WindowRecord& record, Place& place) noexcept {
    if (record.reset != 0) {
        place.set->put(record, place.replaced);
    } else if (place.slot != WindowSet::no_slot) {
        place.set->drop(place.slot);
    }
}

WindowTable::Records WindowTable::records_of(std::size_t set) noexcept {
    WindowSet& from = sets_[set];
    Records copy;
    LockHold hold;
    hold.acquire(from.lock(), user_);
    for (unsigned slot = 0; slot < WindowSet::slots && copy.count < copy.records.size(); ++slot) {
        if (from.is_valid(slot)) {
            copy.records.at(copy.count++) = from.at(slot);
        }
    }
    return copy;
}

}  // namespace rate_limit
