#include "core/counts/counter_table.h"

#include <algorithm>

#include "core/limit/clocks.h"

namespace rate_limit {

namespace {

/// A slot is at least so large, with room for some twenty groups, however many workers there are.
constexpr std::size_t least_slot = 2048;

}  // namespace

bool CounterTable::use(void* memory, std::size_t size, const LockUser& user, std::size_t workers) noexcept {
    const std::size_t most = std::min(most_slots, size / least_slot);
    const std::size_t slots = 1 + std::min(2 * workers, most);
    // The space between the header and the cells is rounded up to whole cache lines.
    const std::size_t fixed = sizeof(Header) + slots * sizeof(owners_[0]) + alignment;
    const std::size_t of_group = sizeof(Place) + slots * sizeof(Cells);
    if (!LayoutMark::fits(memory, size, fixed + of_group)) {
        return false;
    }
    user_ = user;
    slots_ = slots;
    const std::size_t groups = (size - fixed) / of_group;
    auto* at = static_cast<char*>(memory);
    header_ = reinterpret_cast<Header*>(at);
    at += sizeof(Header);
    owners_ = reinterpret_cast<std::atomic<std::uint64_t>*>(at);
    at += slots_ * sizeof(owners_[0]);
    places_.use(reinterpret_cast<Place*>(at), groups, header_->generation);
    at += groups * sizeof(Place);
    at += (alignment - reinterpret_cast<std::uintptr_t>(at) % alignment) % alignment;
    cells_ = reinterpret_cast<Cells*>(at);
    slot_ = no_slot;
    own_ = nullptr;
    return true;
}

/// The cells are their workers' own and are not touched: the new name counts from where they stand. A worker
/// of an earlier configuration that has just seen the old name may still add one count to the new one.
void CounterTable::empty(std::size_t at) noexcept {
    Place& place = places_[at];
    for (std::size_t counter = 0; counter < group_size; ++counter) {
        place.base[counter].store(sum(at, counter), std::memory_order_relaxed);
    }
    place.misses.store(0, std::memory_order_relaxed);
    place.misses_in_a_row.store(0, std::memory_order_relaxed);
    place.told.store(0, std::memory_order_relaxed);
}

std::uint64_t CounterTable::sum(std::size_t place, std::size_t counter) const noexcept {
    std::uint64_t sum = 0;
    for (std::size_t slot = 0; slot < slots_; ++slot) {
        sum += cells_[slot * groups() + place].counts[counter].load(std::memory_order_relaxed);
    }
    return sum;
}

/// A process claims its slot with its first count, and never gives it back: others see when it has died.
void CounterTable::add(std::size_t place, std::size_t counter, std::uint64_t more) noexcept {
    if (slot_ == no_slot) {
        const std::optional<std::size_t> own = claim_one(owners_ + 1, slots_ - 1, user_);
        slot_ = own ? *own + 1 : shared_slot;
        own_ = slot_ != shared_slot ? cells_ + slot_ * groups() : nullptr;
    }
    std::atomic<std::uint64_t>& cell = cells_[slot_ * groups() + place].counts[counter];
    if (slot_ == shared_slot) {
        cell.fetch_add(more, std::memory_order_relaxed);
    } else {
        raise(cell, more);
    }
}

bool CounterTable::take_turn(std::uint32_t now, std::uint32_t interval) noexcept {
    std::uint32_t last = header_->turn.load(std::memory_order_relaxed);
    return pause_after(last, now, interval) == 0 &&
           header_->turn.compare_exchange_strong(last, now, std::memory_order_relaxed);
}

std::uint32_t CounterTable::pause(std::uint32_t now, std::uint32_t interval) const noexcept {
    return pause_after(header_->turn.load(std::memory_order_relaxed), now, interval);
}

std::uint32_t CounterTable::pause_after(std::uint32_t last, std::uint32_t now,
                                        std::uint32_t interval) noexcept {
    const Millis passed = since(last, now);
    return passed >= interval ? 0 : interval - static_cast<std::uint32_t>(passed);
}

CounterTable::Group::Group(CounterTable& table, Name name, Name otherwise) noexcept
    : table_(&table),
      name_(name),
      place_(table.places_.find(name.value())),
      otherwise_(table.places_.find(otherwise.value())),
      found_as_(place_ != none ? &table.places_[place_].name : nullptr) {}

/// The first count of a process; and where the name has no place, or the process no slot of its own.
void CounterTable::Group::add_elsewhere(std::size_t counter, std::uint64_t more) noexcept {
    const std::size_t at = place();
    if (at != none) {
        table_->add(at, counter, more);
    }
}

std::uint64_t CounterTable::Group::count(std::size_t counter) const noexcept {
    for (;;) {
        const bool own = has_place();
        const std::size_t at = own ? place_ : otherwise_;
        if (at == none) {
            return 0;
        }
        const std::uint64_t base = table_->places_[at].base[counter].load(std::memory_order_relaxed);
        const std::uint64_t sum = table_->sum(at, counter);
        std::atomic_thread_fence(std::memory_order_acquire);
        if (own == has_place()) {
            return sum - base;
        }
    }
}

void CounterTable::Group::miss(bool again) noexcept {
    const std::size_t at = place();
    if (at == none) {
        return;
    }
    Place& found = table_->places_[at];
    found.misses.fetch_add(1, std::memory_order_relaxed);
    if (!again && found.misses_in_a_row.load(std::memory_order_relaxed) < most_in_a_row) {
        found.misses_in_a_row.fetch_add(1, std::memory_order_relaxed);
    }
}

std::uint64_t CounterTable::Group::misses() const noexcept {
    const std::size_t at = place();
    return at != none ? table_->places_[at].misses.load(std::memory_order_relaxed) : 0;
}

std::uint32_t CounterTable::Group::misses_in_a_row() const noexcept {
    if (!has_place()) {
        return 0;
    }
    return std::min(table_->places_[place_].misses_in_a_row.load(std::memory_order_relaxed), most_in_a_row);
}

bool CounterTable::Group::tell(std::uint64_t digest) noexcept {
    const std::size_t at = place();
    return at != none && table_->places_[at].told.exchange(digest, std::memory_order_relaxed) != digest;
}

}  // namespace rate_limit
