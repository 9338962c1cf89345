#include "core/counts/running_counts.h"

namespace rate_limit {

/// Rows that share no cache line where there is room for that.
bool RunningCounts::use(void* memory, std::size_t bytes, std::size_t places) noexcept {
    for (const std::size_t unit : {alignment, least_unit}) {
        for (std::size_t columns = most_limits + 1; columns != 0; --columns) {
            const Layout layout = layout_of(places, columns, unit);
            const bool worth_it = columns > 1 || unit == least_unit;
            if (layout.bytes <= bytes && worth_it) {
                header_ = static_cast<Header*>(memory);
                columns_ = reinterpret_cast<Limit*>(header_ + 1);
                rows_ = reinterpret_cast<char*>(columns_) + round_up(columns * sizeof(Limit), alignment);
                column_count_ = columns;
                place_count_ = places;
                pitch_ = layout.pitch;
                return true;
            }
        }
    }
    return false;
}

RunningCounts::Column RunningCounts::find(std::uint64_t name) const noexcept {
    for (Column column = 1; column < column_count_; ++column) {
        if (columns_[column].name.load(std::memory_order_relaxed) == name) {
            return column;
        }
    }
    return others;
}

/// Only the row's owner writes it. What a process before has left there is void until the owner's word
/// stands.
void RunningCounts::enter(std::size_t place, std::uint64_t self, Column column) noexcept {
    Row& own = row(place);
    Cell* const cells = cells_of(own);
    if (own.owner.load(std::memory_order_relaxed) != self) {
        for (std::size_t i = 0; i < column_count_; ++i) {
            cells[i].store(0, std::memory_order_relaxed);
        }
        own.owner.store(self, std::memory_order_release);
    }
    cells[column].store(cells[column].load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

void RunningCounts::leave(std::size_t place, std::uint64_t self, Column column) noexcept {
    Row& own = row(place);
    Cell& cell = cells_of(own)[column];
    const std::uint32_t count = cell.load(std::memory_order_relaxed);
    if (count != 0 && own.owner.load(std::memory_order_relaxed) == self) {
        cell.store(count - 1, std::memory_order_relaxed);
    }
}

void RunningCounts::begin_round() noexcept {
    const std::uint32_t next = header_->round.load() + 1;
    for (std::size_t i = 0; i < column_count_; ++i) {
        columns_[i].slots[next % 2].store(0, std::memory_order_relaxed);
    }
    header_->round.store(next);
}

void RunningCounts::see(std::uint32_t tag, std::uint64_t slots) noexcept {
    Column column = others;
    for (Column i = 1; i < column_count_; ++i) {
        const std::uint64_t name = columns_[i].name.load(std::memory_order_relaxed);
        if (name != 0 && tag_of(name) == tag) {
            column = i;
            break;
        }
    }
    columns_[column].slots[header_->round.load(std::memory_order_relaxed) % 2].fetch_add(
        slots, std::memory_order_relaxed);
}

std::uint64_t RunningCounts::slots(Column column) const noexcept {
    return columns_[column].slots[(header_->round.load(std::memory_order_relaxed) + 1) % 2].load(
        std::memory_order_relaxed);
}

}  // namespace rate_limit
