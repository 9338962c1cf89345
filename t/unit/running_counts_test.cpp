// How many requests of a limit run, by what processes count of it, and those that die.

#include "core/counts/running_counts.h"

#include <algorithm>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "own_places.h"

namespace rate_limit::running_counts_test {
namespace {

std::set<std::uint32_t> dead;

bool lives(const Process& process) {
    return dead.count(process.pid) == 0;
}

class RunningCountsTest : public testing::Test {
protected:
    static constexpr std::size_t most_places = 8;

    RunningCountsTest() { dead.clear(); }

    void create(std::size_t bytes) {
        lines.assign((bytes + sizeof(Line) - 1) / sizeof(Line), Line());
        lines.push_back(Line{{'x'}});
        created = counts.use(lines.data(), bytes, most_places);
    }
    std::size_t take(std::uint32_t pid) { return places.take({{pid, 1}, lives}).value(); }
    void enter(std::size_t place, RunningCounts::Column column, int times = 1) {
        for (int i = 0; i < times; ++i) {
            counts.enter(place, places.owner_of(place), column);
        }
    }
    std::uint64_t running(std::uint64_t name) { return counts.running(places, counts.find(name)); }

    struct alignas(RunningCounts::alignment) Line {
        char bytes[RunningCounts::alignment];
    };

    OwnPlaces places{most_places};
    std::vector<Line> lines;
    RunningCounts counts;
    bool created = false;
};

constexpr std::uint64_t a = 0x1111111122222222;
constexpr std::uint64_t b = 0x3333333344444444;
constexpr std::uint64_t c = 0x5555555566666666;

TEST_F(RunningCountsTest, AddsUpWhatLivingProcessesCount) {
    create(RunningCounts::bytes_for(most_places));
    ASSERT_TRUE(created);
    counts.make_room({a, b}, places);
    const std::size_t one = take(1);
    const std::size_t two = take(2);
    enter(one, counts.find(a), 3);
    enter(two, counts.find(a), 4);
    enter(two, counts.find(b));
    counts.leave(one, places.owner_of(one), counts.find(a));
    EXPECT_EQ(running(a), 6U);
    EXPECT_EQ(running(b), 1U);

    dead.insert(2);
    ASSERT_TRUE(places.find_dead(lives));
    EXPECT_EQ(running(a), 2U);
    EXPECT_EQ(running(b), 0U);

    const std::size_t three = take(3);
    ASSERT_EQ(three, two) << "a new process has the place of the dead one";
    EXPECT_EQ(running(a), 2U) << "and not its count";
    enter(three, counts.find(b));
    EXPECT_EQ(running(a), 2U);
    EXPECT_EQ(running(b), 1U);

    places.leave(one);
    EXPECT_EQ(running(a), 0U) << "nor does that of one that has left count";
}

TEST_F(RunningCountsTest, LeavesNeverMoreThanEntered) {
    create(RunningCounts::bytes_for(most_places));
    counts.make_room({a}, places);
    const std::size_t one = take(1);
    counts.leave(one, places.owner_of(one), counts.find(a));
    EXPECT_EQ(running(a), 0U);
    enter(one, counts.find(a));
    counts.leave(one, places.owner_of(one) + 1, counts.find(a));
    EXPECT_EQ(running(a), 1U) << "only its owner changes a row";
}

TEST_F(RunningCountsTest, IsTakenUpAsItWasMade) {
    create(RunningCounts::bytes_for(most_places));
    counts.make_room({a}, places);
    const std::size_t one = take(1);
    enter(one, counts.find(a), 5);
    RunningCounts next;
    ASSERT_TRUE(next.use(lines.data(), RunningCounts::bytes_for(most_places), most_places));
    EXPECT_EQ(next.find(a), counts.find(a));
    EXPECT_EQ(next.running(places, next.find(a)), 5U);
}

TEST_F(RunningCountsTest, GivesAColumnToAnotherLimitWhenNothingRunsThere) {
    create(RunningCounts::least_bytes_for(most_places));
    ASSERT_TRUE(created);
    counts.make_room({a, b}, places);
    const RunningCounts::Column column = counts.find(a);
    ASSERT_NE(column, RunningCounts::others);
    EXPECT_EQ(counts.find(b), RunningCounts::others) << "there is room for one";
    const std::size_t one = take(1);
    enter(one, column);

    counts.make_room({c}, places);
    EXPECT_EQ(counts.find(c), RunningCounts::others) << "a request of the former limit runs";
    EXPECT_EQ(counts.check(column, a), column);
    counts.leave(one, places.owner_of(one), column);
    counts.make_room({c}, places);
    EXPECT_EQ(counts.find(c), column);
    EXPECT_EQ(counts.check(column, a), RunningCounts::others) << "who knew it for the former one, sees that";
    EXPECT_EQ(counts.find(a), RunningCounts::others);
    counts.make_room({c, a}, places);
    EXPECT_EQ(counts.find(c), column) << "what is configured keeps its column";
}

TEST_F(RunningCountsTest, TellsSlotsOfTheLastWholeRound) {
    create(RunningCounts::bytes_for(most_places));
    counts.make_room({a, b}, places);
    counts.begin_round();
    counts.see(RunningCounts::tag_of(a), 3);
    counts.see(RunningCounts::tag_of(a), 4);
    counts.see(RunningCounts::tag_of(b), 5);
    counts.see(RunningCounts::tag_of(c), 6);
    EXPECT_EQ(counts.slots(counts.find(a)), 0U);
    counts.begin_round();
    counts.see(RunningCounts::tag_of(a), 1);
    EXPECT_EQ(counts.slots(counts.find(a)), 7U);
    EXPECT_EQ(counts.slots(counts.find(b)), 5U);
    EXPECT_EQ(counts.slots(RunningCounts::others), 6U);
    counts.begin_round();
    EXPECT_EQ(counts.slots(counts.find(a)), 1U);
    EXPECT_EQ(counts.slots(counts.find(b)), 0U);
}

TEST_F(RunningCountsTest, UsesNoMoreMemoryThanItHas) {
    for (std::size_t bytes = 0; bytes < RunningCounts::bytes_for(most_places) + 64; bytes += 40) {
        counts = RunningCounts();
        create(bytes);
        ASSERT_EQ(created, bytes >= RunningCounts::least_bytes_for(most_places)) << bytes;
        if (!created) {
            continue;
        }
        std::vector<std::uint64_t> names;
        for (std::uint64_t name = 1; name <= RunningCounts::most_limits; ++name) {
            names.push_back(name << 32);
        }
        counts.make_room(names, places);
        for (std::size_t place = 0; place < most_places; ++place) {
            counts.enter(place, 7, RunningCounts::others);
            for (const std::uint64_t name : names) {
                counts.enter(place, 7, counts.find(name));
            }
        }
        const Line& after = lines.back();
        ASSERT_EQ(after.bytes[0], 'x') << bytes;
        ASSERT_TRUE(std::all_of(after.bytes + 1, std::end(after.bytes), [](char byte) { return byte == 0; }));
    }
    EXPECT_NE(counts.find(std::uint64_t{RunningCounts::most_limits} << 32), RunningCounts::others);
}

}  // namespace
}  // namespace rate_limit::running_counts_test
