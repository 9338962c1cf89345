#include <atomic>
#include <cstddef>
#include <cstdint>

#include <gtest/gtest.h>

#include "core/machine/records/window_record.h"
#include "table_memory.h"
#include "threads.h"

namespace rate_limit::occupancy_test {
namespace {

constexpr Millis now = table_now;

/// Ids as a keyed hash would make them.
WindowId id_of(std::uint64_t n) {
    const auto mix = [](std::uint64_t x) {
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
        x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
        return x ^ (x >> 31);
    };
    return {mix(n), mix(n + 0x9e3779b97f4a7c15)};
}

void put(WindowTable& table, std::uint64_t n, Millis reset) {
    (void)table.update(id_of(n), now, [reset](WindowRecord& record) {
        record.reset = reset;
        record.truth = Truth::redis;
    });
}

TEST(Occupancy, IsExactInASmallTable) {
    TestTable made(2000);
    EXPECT_EQ(made.table.occupancy(now).open, 0U);
    for (std::uint64_t n = 0; n < 700; ++n) {
        put(made.table, n, n % 7 == 0 ? now : now + 1000);
    }
    const auto found = made.table.occupancy(now);
    EXPECT_TRUE(found.exact);
    EXPECT_EQ(found.open, 600U);
    EXPECT_EQ(found.closed, 100U);
}

TEST(Occupancy, IsFoundToThreePercentInALargeTable) {
    TestTable made(400'000);
    const std::size_t capacity = made.table.capacity();
    std::uint64_t put_in = 0;
    for (const double part : {0.01, 0.5, 0.8}) {
        for (; static_cast<double>(put_in) < part * static_cast<double>(capacity); ++put_in) {
            put(made.table, put_in, put_in % 4 == 0 ? now : now + 1000);
        }
        const auto found = made.table.occupancy(now);
        EXPECT_FALSE(found.exact);
        const auto all = static_cast<double>(put_in);
        EXPECT_NEAR(static_cast<double>(found.open + found.closed), all, 0.03 * all) << part;
        EXPECT_NEAR(static_cast<double>(found.open), 0.75 * all, 0.03 * all) << part;
    }
    for (std::uint64_t more = 0; more < 2 * capacity; ++more) {
        put(made.table, put_in + more, now + 1000);
    }
    const auto full = made.table.occupancy(now);
    EXPECT_NEAR(static_cast<double>(full.open), static_cast<double>(capacity),
                0.03 * static_cast<double>(capacity));
}

TEST(Occupancy, IsFoundWithoutAChange) {
    TestTable made(46);
    for (std::uint64_t n = 0; n < 10 * made.table.capacity(); ++n) {
        put(made.table, n, now + 1000);
    }
    const TableMemory before = made.memory;
    for (Millis look = 0; look < 1000; ++look) {
        EXPECT_EQ(made.table.occupancy(now + look).open, made.table.capacity());
    }
    EXPECT_TRUE(made.memory == before) << "so the same windows are the first to go";
}

TEST(Occupancy, BearsTheFirstRecordPutInMeanwhile) {
    for (int round = 0; round < 200; ++round) {
        TestTable made(2000);
        std::atomic<int> looks{0};
        in_threads(2, [&made, &looks](std::size_t thread) {
            WindowTable view = view_of(made.memory, static_cast<std::uint32_t>(10 + thread));
            if (thread == 0) {
                while (view.occupancy(now).open == 0) {
                    ++looks;
                }
                return;
            }
            while (looks < 3) {
            }
            put(view, 1, now + 1000);
        });
    }
}

/// Counts what it is told.
class Told final : public RoomListener {
public:
    void on_evicted(EvictionTier tier) noexcept override { (tier == EvictionTier::copy ? copies : others)++; }
    void on_full() noexcept override { ++full; }

    std::size_t copies = 0;
    std::size_t others = 0;
    std::size_t full = 0;
};

TEST(RoomListener, IsToldOfOpenWindowsThatHaveToGoAndOfNoRoom) {
    TestTable made(46);
    Told told;
    made.table.set_room_listener(&told);
    const std::size_t capacity = made.table.capacity();
    for (std::uint64_t n = 0; n < 10 * capacity; ++n) {
        put(made.table, n, now + 1000);
    }
    EXPECT_EQ(told.copies, 10 * capacity - made.table.occupancy(now).open);
    EXPECT_EQ(told.others, 0U);
    EXPECT_EQ(told.full, 0U);
    for (std::size_t set = 0; set < made.table.sets(); ++set) {
        for (const Record& record : made.table.records_of(set)) {
            made.table.change(record.id, [](WindowRecord& open) { open.in_flight = 1; });
        }
    }
    const std::size_t before = told.copies;
    put(made.table, 1'000'000, now + 1000);
    EXPECT_EQ(told.full, 1U) << "requests still have to change all of them";
    EXPECT_EQ(told.copies, before);
}

}  // namespace
}  // namespace rate_limit::occupancy_test
