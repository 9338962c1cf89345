#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/counts/named_places.h"
#include "core/limit/window.h"
#include "core/table/layout_mark.h"
#include "core/table/owned_lock.h"

namespace rate_limit {

/// How much a few counters of each of many names have counted in each minute of the last hour, in memory that
/// processes share and that outlives them. Counting itself stays where it is: once a minute one process puts
/// down what the counters say, a mark, and what a minute has counted is the difference of two marks.
///
/// Counts between two marks belong to the minute of the first. So where no process was awake at a minute's
/// begin, or the clock was set forward, the minutes in between have 0, and the one before has what was
/// counted meanwhile. Where the clock was set back by more than a minute, the hour begins anew.
///
/// The lines are NamedPlaces.
class LastHour {
public:
    static constexpr std::size_t alignment = LayoutMark::alignment;
    static constexpr std::size_t minutes = 60;
    static constexpr std::size_t counters = 4;

    using Counts = std::array<std::uint64_t, counters>;

    /// The counts of each minute, the oldest first; the last is the running one.
    using Hour = std::array<Counts, minutes>;

    /// Memory that is all zero at first, for as many names as fit, perhaps none; each process calls this as
    /// `user`, with the same size. False: it is too small even for that.
    [[nodiscard]] bool use(void* memory, std::size_t size, const LockUser& user) noexcept;

    /// How many names have room.
    std::size_t lines() const noexcept { return lines_.count(); }

    /// A configuration brings its names, as NamedPlaces has it, with what their counters say now.
    void begin_names() noexcept { lines_.begin(); }
    void keep(std::uint64_t name) noexcept { lines_.keep(name); }
    bool add_name(std::uint64_t name, const Counts& counts, Millis now) noexcept;

    /// True for one process in each minute: it calls mark() for every name, then end_marks(). If it dies in
    /// between, another one does what is left.
    bool begin_marks(Millis now) noexcept;
    void mark(std::uint64_t name, const Counts& counts, Millis now) noexcept;
    void end_marks(Millis now) noexcept;

    /// The hour of a name whose counters say `counts` now. False: the name has no line.
    bool read(std::uint64_t name, const Counts& counts, Millis now, Hour& hour) const noexcept;

private:
    /// The counters, modulo 2^32, when a minute began or soon after.
    struct Mark {
        std::atomic<std::uint32_t> minute;  // 0: none
        std::array<std::atomic<std::uint32_t>, counters> counts;
    };

    struct Line {
        std::atomic<std::uint64_t> name;
        std::atomic<std::uint32_t> generation;
        std::array<Mark, minutes> marks;  // by the minute
    };

    using Lines = NamedPlaces<Line>;

    struct alignas(alignment) Header {
        std::atomic<std::uint32_t> generation;
        std::atomic<std::uint64_t>
            marking;  // the process that puts down marks, as OwnedLock::word_of(); 0: nobody
        std::atomic<std::uint32_t> minute;  // the minute of the last marks
    };

    static std::uint32_t minute_of(Millis now) noexcept { return static_cast<std::uint32_t>(now / 60'000); }

    /// The clock was set back, and by so much that minutes would come twice. Less than that is the difference
    /// between two processes, or a clock being put right.
    static bool is_set_back(std::uint32_t before, std::uint32_t minute) noexcept {
        return minute + 1 < before;
    }

    static void write(Line& line, std::uint32_t minute, const Counts& counts) noexcept;
    static void forget(Line& line) noexcept;
    static bool read_mark(const Line& line, std::uint32_t minute, Counts& counts) noexcept;

    LockUser user_;
    Header* header_ = nullptr;
    Lines lines_;
};

}  // namespace rate_limit
