#include "core/waiting_charge.h"

#include <string>

#include <gtest/gtest.h>

#include "table_memory.h"

namespace rate_limit {
namespace {

struct Waiting {
    explicit Waiting(std::size_t charges)
        : memory(WaitingTable::bytes_for(charges)), table(LockUser{{1, 1}, all_are_alive}) {
        EXPECT_TRUE(table.create(memory.at(), memory.size(), table_key));
    }
    bool add(const WindowId& id, const std::string& key, Millis reset = table_now + 1000) {
        return table.update(id, table_now, [&](WaitingCharge& charge) {
            charge.reset = reset;
            charge.set_key(key);
            charge.cost += 3;
            charge.charges += 1;
        });
    }
    TableMemory memory;
    WaitingTable table;
};

TEST(WaitingCharge, KeepsKeysOfAnyBytesAndEveryLength) {
    Waiting waiting(1000);
    Ids ids(1);
    for (std::size_t length = 0; length <= WaitingCharge::max_key; ++length) {
        std::string key(length, '\0');
        for (std::size_t i = 0; i < length; ++i) {
            key[i] = static_cast<char>(i * 7 + length);
        }
        const WindowId id = ids.next();
        ASSERT_TRUE(waiting.add(id, key));
        ASSERT_EQ(waiting.table.find(id)->key(), key);
    }
}

TEST(WaitingCharge, SumsWhatWaitsForOneWindow) {
    Waiting waiting(46);
    const WindowId id{1, 2};
    for (int i = 0; i < 5; ++i) {
        ASSERT_TRUE(waiting.add(id, "k"));
    }
    EXPECT_EQ(waiting.table.find(id)->cost, 15);
    EXPECT_EQ(waiting.table.find(id)->charges, 5U);
    EXPECT_TRUE(waiting.table.change(id, [](WaitingCharge& charge) { charge.reset = 0; }));
    EXPECT_FALSE(waiting.table.find(id)) << "taken out";
}

TEST(WaitingCharge, AChangeOfTheKeyAloneIsAChange) {
    Waiting waiting(46);
    const WindowId id{1, 2};
    ASSERT_TRUE(waiting.add(id, "one"));
    EXPECT_TRUE(waiting.table.change(id, [](WaitingCharge& charge) { charge.set_key("two"); }));
    EXPECT_EQ(waiting.table.find(id)->key(), "two");
}

TEST(WaitingCharge, RefundsToEachWindowHaveAPlaceThatLeadsBack) {
    const WindowId id = Ids(1).next();
    const WindowId place = refund_place(id, table_now);
    EXPECT_FALSE(place == id);
    EXPECT_FALSE(place == refund_place(id, table_now + 1));
    EXPECT_TRUE(refund_place(place, table_now) == id);
}

TEST(WaitingCharge, NothingThatWaitsGivesWay) {
    Waiting waiting(46);
    Ids ids(2);
    std::size_t kept = 0;
    for (int i = 0; i < 1000; ++i) {
        // Half of them wait for windows that have ended: they are to be counted before they go.
        kept += waiting.add(ids.next(), "k", table_now + (i % 2 == 0 ? 1000 : -1000)) ? 1 : 0;
    }
    std::size_t held = 0;
    waiting.table.for_each([&](const WaitingCharge& /*charge*/) { ++held; });
    EXPECT_EQ(held, kept);
    EXPECT_LE(kept, waiting.table.capacity());
}

}  // namespace
}  // namespace rate_limit
