#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rate_limit {

/// For each limit of running requests, how many run on this machine and how many slots it holds, in memory
/// that processes share. Each process counts its requests in a row of its own, that of its place, and rows of
/// processes that have died or left do not count: so a sum is right as soon as a death is found, and no
/// process waits for another one's cache lines. Slots are summed up by the walk over their notes, round after
/// round.
///
/// `Places` is WorkerPlaces: end() is one more than the highest place, and owner_of(place) the word of the
/// process that has it, 0: none.
///
/// A limit has a column, by the digest of its names. One that is not configured any more keeps it while a
/// request of it runs or no other limit needs it. Limits without a column are counted together.
class RunningCounts {
public:
    static constexpr std::size_t alignment = 64;

    /// More limits than that are counted together.
    static constexpr std::size_t most_limits = 256;

    using Column = std::uint32_t;

    /// That of the limits that have none.
    static constexpr Column others = 0;

    /// Bytes that most_limits and rows for so many processes take; and the least with which anything can be
    /// counted.
    static constexpr std::size_t bytes_for(std::size_t places) noexcept {
        return layout_of(places, most_limits + 1, alignment).bytes;
    }
    static constexpr std::size_t least_bytes_for(std::size_t places) noexcept {
        return layout_of(places, 1, least_unit).bytes;
    }

    /// Memory that is all zero at first, aligned, for so many processes; each calls this with the same
    /// numbers. False: it has not even room for the column of the others.
    [[nodiscard]] bool use(void* memory, std::size_t bytes, std::size_t places) noexcept;

    /// A configuration brings the digests of its limits, which are not 0, the most important first. One
    /// process at a time; others may count meanwhile.
    template <typename Places>
    void make_room(const std::vector<std::uint64_t>& names, const Places& places) noexcept {
        for (const std::uint64_t name : names) {
            if (find(name) == others && !take_column(name, [&](Column column, std::uint64_t owner) {
                    return running(places, column) == 0 &&
                           std::find(names.begin(), names.end(), owner) == names.end();
                })) {
                return;
            }
        }
    }

    /// The limit's column.
    Column find(std::uint64_t name) const noexcept;

    /// `known`, what find() has returned once, unless another limit has it by now.
    Column check(Column known, std::uint64_t name) const noexcept {
        return columns_[known].name.load(std::memory_order_relaxed) == name ? known : others;
    }

    /// A request of the process whose place and word these are begins to run, or ends.
    void enter(std::size_t place, std::uint64_t self, Column column) noexcept;
    void leave(std::size_t place, std::uint64_t self, Column column) noexcept;

    /// How many run, in all processes that have their places.
    template <typename Places>
    std::uint64_t running(const Places& places, Column column) const noexcept {
        std::uint64_t sum = 0;
        for (std::size_t place = 0; place < std::min(places.end(), place_count_); ++place) {
            Row& of = row(place);
            const std::uint64_t owner = of.owner.load(std::memory_order_acquire);
            if (owner != 0 && owner == places.owner_of(place)) {
                sum += cells_of(of)[column].load(std::memory_order_relaxed);
            }
        }
        return sum;
    }

    /// Sums of a walk over all notes of slots, round after round, as in DebtCounts. A note knows its limit by
    /// tag_of() its digest.
    static constexpr std::uint32_t tag_of(std::uint64_t name) noexcept {
        return static_cast<std::uint32_t>(name >> 32);
    }
    void begin_round() noexcept;
    void see(std::uint32_t tag, std::uint64_t slots) noexcept;

    /// Slots that the last whole round has found.
    std::uint64_t slots(Column column) const noexcept;

private:
    struct alignas(alignment) Header {
        std::atomic<std::uint32_t> round;
    };

    struct Limit {
        std::atomic<std::uint64_t> name;                  // 0: nobody's
        std::array<std::atomic<std::uint64_t>, 2> slots;  // by even and odd rounds
    };

    using Cell = std::atomic<std::uint32_t>;

    /// The head of one process's row; the cells follow.
    struct Row {
        std::atomic<std::uint64_t> owner;  // the process, by WorkerPlaces; the cells of another one are void
    };

    static constexpr std::size_t least_unit = sizeof(Row);

    static constexpr std::size_t round_up(std::size_t bytes, std::size_t unit) noexcept {
        return (bytes + unit - 1) / unit * unit;
    }
    struct Layout {
        std::size_t pitch;  // bytes from row to row
        std::size_t bytes;
    };
    static constexpr Layout layout_of(std::size_t places, std::size_t columns, std::size_t unit) noexcept {
        const std::size_t pitch = round_up(sizeof(Row) + columns * sizeof(Cell), unit);
        return {pitch, sizeof(Header) + round_up(columns * sizeof(Limit), alignment) + places * pitch};
    }

    template <typename IsSpare>
    bool take_column(std::uint64_t name, IsSpare&& is_spare) noexcept;
    Row& row(std::size_t place) const noexcept { return *reinterpret_cast<Row*>(rows_ + place * pitch_); }
    static Cell* cells_of(Row& row) noexcept { return reinterpret_cast<Cell*>(&row + 1); }

    Header* header_ = nullptr;
    Limit* columns_ = nullptr;
    char* rows_ = nullptr;
    std::size_t column_count_ = 0;
    std::size_t place_count_ = 0;
    std::size_t pitch_ = 0;
};

/// One that is nobody's; else one of a limit that is not configured any more, of which nothing runs. A worker
/// that has just found it for that may still count one request there, until this ends.
template <typename IsSpare>
bool RunningCounts::take_column(std::uint64_t name, IsSpare&& is_spare) noexcept {
    Column found = others;
    for (Column column = 1; column < column_count_; ++column) {
        const std::uint64_t owner = columns_[column].name.load(std::memory_order_relaxed);
        if (owner == 0) {
            found = column;
            break;
        }
        found = found == others && is_spare(column, owner) ? column : found;
    }
    if (found == others) {
        return false;
    }
    for (auto& slots : columns_[found].slots) {
        slots.store(0, std::memory_order_relaxed);
    }
    columns_[found].name.store(name, std::memory_order_relaxed);
    return true;
}

}  // namespace rate_limit
