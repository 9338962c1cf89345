#include "core/counts/last_hour.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "table_memory.h"

namespace rate_limit::last_hour_test {
namespace {

constexpr std::size_t default_size = std::size_t{8} * 1024;
constexpr Millis minute = 60'000;
constexpr Millis begin = table_now / minute * minute;

/// Processes that are only numbers: those from 1000 on are dead.
bool is_small(const Process& process) {
    return process.pid < 1000;
}

/// The memory as one process sees it.
struct View : LastHour {
    View(const TableMemory& memory, std::uint32_t pid) {
        EXPECT_TRUE(use(memory.at(), memory.size(), LockUser{{pid, 1}, is_small}));
    }
};

LastHour::Counts passed(std::uint64_t count) {
    return {count, 0, 0, 0};
}

struct Hours {
    explicit Hours(std::size_t size = default_size) : memory(size) {
        EXPECT_TRUE(master.use(memory.at(), size, LockUser{{1, 1}, is_small}));
    }

    /// Returns how many have no room.
    std::size_t configure(const std::vector<std::uint64_t>& names, Millis now, std::uint64_t count = 0) {
        std::size_t without = 0;
        master.begin_names();
        for (const std::uint64_t name : names) {
            master.keep(name);
        }
        for (const std::uint64_t name : names) {
            without += master.add_name(name, passed(count), now) ? 0 : 1;
        }
        return without;
    }

    /// False: another process has done it.
    bool mark(std::uint64_t name, std::uint64_t count, Millis now) {
        if (!master.begin_marks(now)) {
            return false;
        }
        master.mark(name, passed(count), now);
        master.end_marks(now);
        return true;
    }

    /// Counts, minute by minute, without the oldest minutes that have 0.
    std::vector<std::uint64_t> read(std::uint64_t name, std::uint64_t count, Millis now) {
        LastHour::Hour hour;
        EXPECT_TRUE(master.read(name, passed(count), now, hour));
        std::vector<std::uint64_t> counts;
        for (const LastHour::Counts& each : hour) {
            if (!counts.empty() || each[0] != 0) {
                counts.push_back(each[0]);
            }
        }
        return counts;
    }

    TableMemory memory;
    LastHour master;
};

using Counted = std::vector<std::uint64_t>;

TEST(LastHour, TellsWhatEachMinuteHasCounted) {
    Hours hours;
    EXPECT_EQ(hours.configure({5, 7}, begin + 100), 0U);
    EXPECT_EQ(hours.read(5, 3, begin + 200), Counted({3})) << "the running minute";
    EXPECT_TRUE(hours.mark(5, 4, begin + 300)) << "later in the minute in which the name came";
    EXPECT_FALSE(hours.mark(5, 5, begin + 400)) << "once a minute";
    EXPECT_EQ(hours.read(5, 5, begin + 500), Counted({5}));
    EXPECT_TRUE(hours.mark(5, 10, begin + minute + 20));
    EXPECT_EQ(hours.read(5, 10, begin + minute + 30), Counted({10, 0}));
    EXPECT_EQ(hours.read(5, 17, begin + minute + 40), Counted({10, 7}));
    EXPECT_TRUE(hours.mark(5, 17, begin + 2 * minute));
    EXPECT_EQ(hours.read(5, 18, begin + 2 * minute), Counted({10, 7, 1}));
    EXPECT_EQ(hours.read(7, 0, begin + 2 * minute), Counted({})) << "another name by itself";
}

TEST(LastHour, TellsAllCounters) {
    Hours hours;
    hours.configure({5}, begin);
    LastHour::Hour hour;
    EXPECT_TRUE(hours.master.read(5, {1, 20, 300, std::uint64_t{1} << 31}, begin, hour));
    EXPECT_EQ(hour.back(), (LastHour::Counts{1, 20, 300, 0})) << "more than 2^31 is nonsense";
    EXPECT_FALSE(hours.master.read(6, {}, begin, hour)) << "a name without a line";
}

TEST(LastHour, ForgetsWhatIsOlder) {
    Hours hours;
    hours.configure({5}, begin);
    std::uint64_t count = 0;
    for (Millis i = 0; i < 200; ++i) {
        hours.mark(5, count, begin + i * minute);
        count += static_cast<std::uint64_t>(i) + 1;
    }
    const Counted counts = hours.read(5, count, begin + 199 * minute);
    ASSERT_EQ(counts.size(), LastHour::minutes);
    EXPECT_EQ(counts.front(), 141U);
    EXPECT_EQ(counts.back(), 200U);
}

TEST(LastHour, CountsForTheMinuteBeforeAGap) {
    Hours hours;
    hours.configure({5}, begin);
    EXPECT_TRUE(hours.mark(5, 10, begin + minute));
    EXPECT_TRUE(hours.mark(5, 25, begin + 4 * minute)) << "nobody was awake at two and three";
    EXPECT_EQ(hours.read(5, 26, begin + 4 * minute), Counted({10, 15, 0, 0, 1}));
    EXPECT_EQ(hours.read(5, 26, begin + 6 * minute), Counted({10, 15, 0, 0, 1, 0, 0}));
    EXPECT_EQ(hours.read(5, 26, begin + 65 * minute), Counted({})) << "all of it is too old";
    EXPECT_TRUE(hours.mark(5, 100, begin + 1000 * minute));
    EXPECT_EQ(hours.read(5, 101, begin + 1000 * minute), Counted({1}));
}

TEST(LastHour, BeginsAnewWhenTheClockIsSetBack) {
    Hours hours;
    hours.configure({5}, begin);
    for (Millis i = 1; i <= 10; ++i) {
        EXPECT_TRUE(hours.mark(5, static_cast<std::uint64_t>(i) * 10, begin + i * minute));
    }
    EXPECT_EQ(hours.read(5, 105, begin + 3 * minute), Counted({})) << "not known before the next marks";
    EXPECT_TRUE(hours.mark(5, 110, begin + 3 * minute));
    EXPECT_EQ(hours.read(5, 111, begin + 3 * minute), Counted({1}));
    EXPECT_TRUE(hours.mark(5, 112, begin + 4 * minute));
    EXPECT_EQ(hours.read(5, 115, begin + 4 * minute), Counted({2, 3}))
        << "the times that came before are gone";
}

TEST(LastHour, BearsClocksThatAreALittleApart) {
    Hours hours;
    hours.configure({5}, begin);
    EXPECT_TRUE(hours.mark(5, 10, begin + minute));
    EXPECT_FALSE(hours.mark(5, 11, begin + minute - 1));
    EXPECT_EQ(hours.read(5, 12, begin + minute - 1), Counted({10, 2}));
}

TEST(LastHour, IsNeverLessThanNothing) {
    Hours hours;
    hours.configure({5}, begin);
    EXPECT_TRUE(hours.mark(5, 10, begin + minute));
    EXPECT_EQ(hours.read(5, 8, begin + minute), Counted({10, 0}))
        << "the reader's counts are older than the mark";
    EXPECT_TRUE(hours.mark(5, 2, begin + 2 * minute)) << "the counters have begun at 0 again";
    EXPECT_EQ(hours.read(5, 3, begin + 2 * minute), Counted({10, 0, 1}));
}

TEST(LastHour, KeepsNamesOverConfigurations) {
    Hours hours;
    hours.configure({5, 6}, begin);
    hours.mark(5, 10, begin + minute);
    EXPECT_EQ(hours.configure({6, 7}, begin + minute), 0U);
    EXPECT_EQ(hours.configure({5, 7}, begin + minute, 100), 0U) << "one comes back, one stays";
    EXPECT_EQ(hours.read(5, 11, begin + minute), Counted({10, 1})) << "and goes on";
    EXPECT_EQ(hours.read(7, 3, begin + minute), Counted({3}));
}

TEST(LastHour, GivesTheLinesOfOldNamesToNewOnes) {
    Hours hours;
    const std::size_t lines = hours.master.lines();
    ASSERT_GE(lines, 3U);
    std::vector<std::uint64_t> names;
    for (std::uint64_t name = 1; name <= lines; ++name) {
        names.push_back(name * 1000);
    }
    EXPECT_EQ(hours.configure(names, begin), 0U);
    EXPECT_TRUE(hours.mark(1000, 50, begin + minute));
    names.push_back(7);
    EXPECT_EQ(hours.configure(names, begin), 1U) << "all are in use";
    LastHour::Hour hour;
    EXPECT_FALSE(hours.master.read(7, {}, begin, hour));
    names.erase(names.begin());
    EXPECT_EQ(hours.configure(names, begin + minute, 20), 0U);
    EXPECT_FALSE(hours.master.read(1000, {}, begin, hour));
    EXPECT_EQ(hours.read(7, 22, begin + minute), Counted({2})) << "without what the old name has counted";
}

TEST(LastHour, IsMarkedByAnotherProcessIfOneDies) {
    Hours hours;
    hours.configure({5, 6}, begin);
    View dying(hours.memory, 1000);
    View other(hours.memory, 2);
    EXPECT_TRUE(dying.begin_marks(begin + minute));
    dying.mark(5, passed(10), begin + minute);
    EXPECT_TRUE(other.begin_marks(begin + minute)) << "the other is dead";
    other.mark(5, passed(15), begin + minute);
    other.mark(6, passed(20), begin + minute);
    EXPECT_FALSE(hours.master.begin_marks(begin + minute)) << "the other lives";
    other.end_marks(begin + minute);
    EXPECT_FALSE(hours.master.begin_marks(begin + minute));
    EXPECT_EQ(hours.read(5, 16, begin + minute), Counted({10, 6}));
    EXPECT_EQ(hours.read(6, 21, begin + minute), Counted({20, 1}));
}

TEST(LastHour, FitsItsMemory) {
    TableMemory memory(default_size);
    LastHour hour;
    EXPECT_FALSE(hour.use(memory.at(), 32, LockUser{})) << "too small";
    EXPECT_FALSE(hour.use(static_cast<char*>(memory.at()) + 8, 4096, LockUser{})) << "not aligned";
    EXPECT_TRUE(hour.use(memory.at(), 64, LockUser{})) << "room for no name";
    EXPECT_EQ(hour.lines(), 0U);
    hour.begin_names();
    EXPECT_FALSE(hour.add_name(5, {}, begin));
    LastHour::Hour counts;
    EXPECT_FALSE(hour.read(5, {}, begin, counts));
}

}  // namespace
}  // namespace rate_limit::last_hour_test
