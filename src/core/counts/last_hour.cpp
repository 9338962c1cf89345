#include "core/counts/last_hour.h"

#include <algorithm>

namespace rate_limit {

namespace {

/// The difference of two counts modulo 2^32. Less than nothing was counted where the marks are younger
/// than the counts that the reader has, or the counters began at 0 again: that is 0.
std::uint64_t difference(std::uint64_t end, std::uint64_t begin) noexcept {
    const auto counted = static_cast<std::uint32_t>(end - begin);
    return counted < std::uint32_t{1} << 31U ? counted : 0;
}

}  // namespace

bool LastHour::use(void* memory, std::size_t size, const LockUser& user) noexcept {
    if (!LayoutMark::fits(memory, size, sizeof(Header))) {
        return false;
    }
    user_ = user;
    header_ = static_cast<Header*>(memory);
    lines_.use(reinterpret_cast<Line*>(header_ + 1), (size - sizeof(Header)) / sizeof(Line),
               header_->generation);
    return true;
}

bool LastHour::add_name(std::uint64_t name, const Counts& counts, Millis now) noexcept {
    return lines_.add(name, [&](std::size_t line) {
        forget(lines_[line]);
        write(lines_[line], minute_of(now), counts);
    });
}

bool LastHour::begin_marks(Millis now) noexcept {
    const std::uint32_t minute = minute_of(now);
    const auto is_marked = [&] {
        const std::uint32_t last = header_->minute.load(std::memory_order_acquire);
        return minute <= last && !is_set_back(last, minute);
    };
    if (is_marked()) {
        return false;
    }
    const std::uint64_t self = OwnedLock::word_of(user_.self);
    std::uint64_t owner = header_->marking.load(std::memory_order_relaxed);
    if ((owner != 0 && owner != self && user_.is_alive(OwnedLock::owner_of(owner))) ||
        !header_->marking.compare_exchange_strong(owner, self, std::memory_order_acq_rel)) {
        return false;
    }
    if (is_marked()) {  // by the owner before
        header_->marking.store(0, std::memory_order_release);
        return false;
    }
    return true;
}

void LastHour::mark(std::uint64_t name, const Counts& counts, Millis now) noexcept {
    const std::size_t at = lines_.find(name);
    if (at == Lines::none) {
        return;
    }
    Line& line = lines_[at];
    if (is_set_back(header_->minute.load(std::memory_order_relaxed), minute_of(now))) {
        forget(line);
    }
    if (line.marks[minute_of(now) % minutes].minute.load(std::memory_order_relaxed) != minute_of(now)) {
        write(line, minute_of(now), counts);
    }
}

void LastHour::end_marks(Millis now) noexcept {
    header_->minute.store(minute_of(now), std::memory_order_release);
    header_->marking.store(0, std::memory_order_release);
}

/// A reader sees by the minute, before and after, what it must not believe.
void LastHour::write(Line& line, std::uint32_t minute, const Counts& counts) noexcept {
    Mark& mark = line.marks[minute % minutes];
    mark.minute.store(0, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    for (std::size_t i = 0; i < counters; ++i) {
        mark.counts[i].store(static_cast<std::uint32_t>(counts[i]), std::memory_order_relaxed);
    }
    mark.minute.store(minute, std::memory_order_release);
}

void LastHour::forget(Line& line) noexcept {
    for (Mark& mark : line.marks) {
        mark.minute.store(0, std::memory_order_relaxed);
    }
}

bool LastHour::read_mark(const Line& line, std::uint32_t minute, Counts& counts) noexcept {
    const Mark& mark = line.marks[minute % minutes];
    if (mark.minute.load(std::memory_order_acquire) != minute) {
        return false;
    }
    for (std::size_t i = 0; i < counters; ++i) {
        counts[i] = mark.counts[i].load(std::memory_order_relaxed);
    }
    std::atomic_thread_fence(std::memory_order_acquire);
    return mark.minute.load(std::memory_order_relaxed) == minute;
}

/// From the running minute back to the oldest: each mark tells what was counted until the next one.
bool LastHour::read(std::uint64_t name, const Counts& counts, Millis now, Hour& hour) const noexcept {
    hour = {};
    const std::size_t at = lines_.find(name);
    if (at == Lines::none) {
        return false;
    }
    const Line& line = lines_[at];
    const std::uint32_t last = header_->minute.load(std::memory_order_acquire);
    if (is_set_back(last, minute_of(now))) {
        return true;  // until the next marks nobody knows how much of it was counted since
    }
    const std::uint32_t running = std::max(minute_of(now), last);
    Counts next = counts;
    for (std::uint32_t age = 0; age < minutes && age < running; ++age) {
        Counts begin{};
        if (!read_mark(line, running - age, begin)) {
            continue;
        }
        for (std::size_t i = 0; i < counters; ++i) {
            hour[minutes - 1 - age][i] = difference(next[i], begin[i]);
        }
        next = begin;
    }
    if (line.name.load(std::memory_order_acquire) != name) {
        hour = {};
        return false;
    }
    return true;
}

}  // namespace rate_limit
