#include "core/machine/records/window_record.h"

#include <cstddef>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/machine/windows/window_account.h"
#include "table_memory.h"
#include "threads.h"

namespace rate_limit::window_table_test {
namespace {

constexpr Millis now = table_now;

std::int64_t used_of(WindowTable& table, const WindowId& id) {
    const auto record = table.find<WindowRecord>(id);
    return record ? record->used : -1;
}

TEST(WindowTable, HoldsWhatItWasSizedFor) {
    for (const std::size_t windows : {1, 46, 47, 1000, 100'000}) {
        TestTable made(windows);
        EXPECT_GE(made.table.capacity(), windows);
        EXPECT_LT(made.table.capacity(), windows + std::size_t{2} * WindowTable::Set::capacity);
    }
}

TEST(WindowTable, NeedsEnoughAlignedMemory) {
    const TableMemory memory(WindowTable::bytes_for(1000));
    WindowTable table({{1, 1}, all_are_alive});
    EXPECT_FALSE(table.create(nullptr, memory.size(), table_key));
    EXPECT_FALSE(table.create(memory.at(), WindowTable::bytes_for(1) - 1, table_key));
    EXPECT_FALSE(table.create(static_cast<char*>(memory.at()) + 8, memory.size() - 8, table_key));
    EXPECT_TRUE(table.create(memory.at(), WindowTable::bytes_for(1), table_key));
    EXPECT_EQ(table.sets(), 2U);
}

TEST(WindowTable, AttachesOnlyToATableOfItsSize) {
    TestTable made(1000);
    count_one(made.table, {1, 2});
    WindowTable other({{2, 1}, all_are_alive});
    EXPECT_FALSE(other.attach(made.memory.at(), made.memory.size() - 64));
    EXPECT_FALSE(other.attach(static_cast<char*>(made.memory.at()) + 64, made.memory.size() - 64));
    const TableMemory empty(made.memory.size());
    EXPECT_FALSE(other.attach(empty.at(), empty.size()));

    ASSERT_TRUE(other.attach(made.memory.at(), made.memory.size()));
    EXPECT_EQ(used_of(other, {1, 2}), 1);
    EXPECT_EQ(other.id_of("key"), made.table.id_of("key"));
}

bool all_but_three_are_alive(const Process& process) {
    return process.pid != 3;
}

TEST(Leave, TheLastOneThatLeavesKnows) {
    TestTable made(46);
    WindowTable second = view_of(made.memory, 2);
    WindowTable third = view_of(made.memory, 3);
    EXPECT_FALSE(made.table.leave(0));
    EXPECT_FALSE(third.leave(0));
    EXPECT_TRUE(second.leave(0));
    EXPECT_TRUE(made.table.leave(0)) << "leaving once more changes nothing";
}

TEST(Leave, OneProcessDoesNotCount) {
    TestTable made(46);
    WindowTable second = view_of(made.memory, 2);
    WindowTable third = view_of(made.memory, 3);
    EXPECT_FALSE(second.leave(1));
    EXPECT_TRUE(third.leave(1));
}

TEST(Leave, TheDeadDoNotCount) {
    TestTable made(46);
    WindowTable second = view_of(made.memory, 2, all_but_three_are_alive);
    view_of(made.memory, 3);
    EXPECT_FALSE(second.leave(0)) << "process 1 lives";
    EXPECT_TRUE(second.leave(1));
}

TEST(Leave, AProcessThatHasLeftStillChangesRecordsAndMayComeBack) {
    TestTable made(46);
    WindowTable second = view_of(made.memory, 2);
    EXPECT_FALSE(second.leave(0));
    EXPECT_TRUE(count_one(second, {1, 2}));
    EXPECT_TRUE(count_one(second, {1, 2}));
    EXPECT_EQ(used_of(made.table, {1, 2}), 2);
    EXPECT_TRUE(made.table.leave(0));
    second.set_user({{2, 1}, all_are_alive});
    EXPECT_FALSE(made.table.leave(0));
}

TEST(Leave, GivesItsJournalToAnother) {
    TestTable made(46);
    std::uint32_t pid = 2;
    for (std::size_t i = 1; i < Record::journals; ++i) {
        view_of(made.memory, pid++);
    }
    WindowTable late = view_of(made.memory, pid);
    EXPECT_FALSE(made.table.leave(0));
    late.set_user({{pid, 1}, all_are_alive});
    WindowTable last =
        view_of(made.memory, pid + 1, [](const Process& process) { return process.pid > 128; });
    EXPECT_FALSE(last.leave(0)) << "the late process has the journal now, and lives";
    EXPECT_TRUE(last.leave(pid));
}

TEST(WindowTable, RemembersEachIdApart) {
    TestTable made(1000);
    Ids ids(1);
    std::vector<WindowId> known;
    for (int i = 0; i < 500; ++i) {
        known.push_back(ids.next());
        for (int times = 0; times <= i % 3; ++times) {
            ASSERT_TRUE(count_one(made.table, known.back()));
        }
    }
    for (int i = 0; i < 500; ++i) {
        EXPECT_EQ(used_of(made.table, known.at(i)), i % 3 + 1);
    }
    EXPECT_EQ(contents_of(made.table).size(), 500U);
}

TEST(WindowTable, IdsThatDifferInOneBitAreApart) {
    TestTable made(1000);
    count_one(made.table, {0, 0});
    for (unsigned bit = 0; bit < 64; ++bit) {
        EXPECT_FALSE(made.table.find<WindowRecord>({std::uint64_t{1} << bit, 0})) << bit;
        EXPECT_FALSE(made.table.find<WindowRecord>({0, std::uint64_t{1} << bit})) << bit;
    }
}

TEST(WindowTable, AnUnknownIdHasNoRecord) {
    TestTable made(1000);
    EXPECT_FALSE(made.table.find<WindowRecord>({1, 2}));
    EXPECT_FALSE(made.table.change({1, 2}, [](WindowRecord&) { FAIL(); }));
    EXPECT_TRUE(made.table.update({1, 2}, now, [](WindowRecord& record) {
        EXPECT_EQ(record.id, (WindowId{1, 2}));
        EXPECT_EQ(record.reset, 0);
    }));
    EXPECT_FALSE(made.table.find<WindowRecord>({1, 2}));
}

TEST(WindowTable, ARecordWithoutWindowIsForgotten) {
    TestTable made(1000);
    count_one(made.table, {1, 2});
    EXPECT_TRUE(made.table.change({1, 2}, [](WindowRecord& record) { record.reset = 0; }));
    EXPECT_FALSE(made.table.find<WindowRecord>({1, 2}));
    EXPECT_TRUE(contents_of(made.table).empty());
}

TEST(WindowTable, TheCallersFunctionCannotChangeTheId) {
    TestTable made(1000);
    count_one(made.table, {1, 2});
    EXPECT_TRUE(made.table.change({1, 2}, [](WindowRecord& record) {
        record.id = {3, 4};
        record.used = 9;
    }));
    EXPECT_EQ(used_of(made.table, {1, 2}), 9);
    EXPECT_FALSE(made.table.find<WindowRecord>({3, 4}));
}

TEST(WindowTable, AnUnchangedRecordIsNotWritten) {
    TestTable made(46);
    count_one(made.table, {1, 2});
    const TableMemory before(made.memory);
    EXPECT_TRUE(made.table.update({1, 2}, now, [](WindowRecord&) {}));
    EXPECT_TRUE(made.memory == before);
    EXPECT_TRUE(made.table.update({1, 2}, now, [](WindowRecord& record) { ++record.used; }));
    EXPECT_FALSE(made.memory == before);
}

TEST(WindowTable, AFunctionThatThrowsChangesNothing) {
    TestTable made(46);
    count_one(made.table, {1, 2});
    const TableMemory before(made.memory);
    const auto throws = [](WindowRecord& record) {
        ++record.used;
        throw std::runtime_error("no");
    };
    EXPECT_THROW((void)made.table.update({1, 2}, now, throws), std::runtime_error);
    EXPECT_THROW((void)made.table.update({3, 4}, now, throws), std::runtime_error);
    EXPECT_TRUE(made.memory == before);
}

/// Puts windows into a table until it is filled to this part; true if all of them are still there then.
bool keeps_all(std::size_t windows, double filled, std::uint64_t seed, Truth truth) {
    TestTable made(windows);
    Ids ids(seed);
    const auto count = static_cast<std::size_t>(static_cast<double>(made.table.capacity()) * filled);
    for (std::size_t i = 0; i < count; ++i) {
        if (!count_one(made.table, ids.next(), 1000, truth)) {
            return false;
        }
    }
    return contents_of(made.table).size() == count;
}

TEST(WindowTable, NoOpenWindowIsEvictedBelow80Percent) {
    for (const std::size_t windows : {46, 92, 500, 5000, 50'000}) {
        for (std::uint64_t seed = 1; seed <= 20; ++seed) {
            EXPECT_TRUE(keeps_all(windows, 0.8, seed, Truth::local)) << windows << ' ' << seed;
        }
        EXPECT_TRUE(keeps_all(windows, 0.8, 99, Truth::redis)) << windows;
    }
    EXPECT_FALSE(keeps_all(50'000, 1.0, 1, Truth::redis));
}

TEST(WindowTable, NoOpenWindowIsEvictedWhileOthersComeAndGo) {
    TestTable made(20'000);
    Ids ids(5);
    std::vector<WindowId> open;
    const std::size_t count = made.table.capacity() * 8 / 10;
    for (std::size_t i = 0; i < count; ++i) {
        open.push_back(ids.next());
        ASSERT_TRUE(count_one(made.table, open.back()));
    }
    // Each time one window ends and another opens. Ended windows stay in their slots until another needs
    // them.
    for (std::size_t i = 0; i < 10 * count; ++i) {
        const std::size_t chosen = ids.number() % count;
        ASSERT_TRUE(made.table.change(open.at(chosen), [](WindowRecord& record) { record.reset = now; }));
        open.at(chosen) = ids.next();
        ASSERT_TRUE(count_one(made.table, open.at(chosen)));
    }
    std::size_t missing = 0;
    for (const WindowId& id : open) {
        missing += made.table.find<WindowRecord>(id) ? 0 : 1;
    }
    EXPECT_EQ(missing, 0U);
}

/// A table of two sets, each full.
struct FullTable : TestTable {
    explicit FullTable(Truth truth = Truth::local, std::int64_t limit = 1000) : TestTable(46) {
        constexpr std::size_t enough = 1000;
        while (contents_of(table).size() < table.capacity() && known.size() < enough) {
            known.push_back(ids.next());
            EXPECT_TRUE(count_one(table, known.back(), limit, truth));
        }
        EXPECT_EQ(known.size(), table.capacity());
    }
    void set(std::size_t index, void (*fn)(WindowRecord&)) { EXPECT_TRUE(table.change(known.at(index), fn)); }
    bool holds(std::size_t index) { return table.find<WindowRecord>(known.at(index)).has_value(); }
    bool add() { return count_one(table, ids.next()); }

    Ids ids{3};
    std::vector<WindowId> known;
};

TEST(WindowTable, WhenFullEndedWindowsAreEvictedFirst) {
    FullTable full;
    full.set(7, [](WindowRecord& record) { record.truth = Truth::redis; });
    full.set(30, [](WindowRecord& record) {
        record.reset = now;
        record.used = 1000;
        record.in_flight = 1;
    });
    EXPECT_TRUE(full.add());
    EXPECT_FALSE(full.holds(30));
    EXPECT_TRUE(full.add());
    EXPECT_FALSE(full.holds(7));
    EXPECT_EQ(contents_of(full.table).size(), full.table.capacity());
}

TEST(WindowTable, WhenFullTheLeastUsedOfBothSetsIsEvicted) {
    for (std::size_t least = 0; least < 46; ++least) {
        FullTable full;
        for (std::size_t i = 0; i < 46; ++i) {
            full.set(i, [](WindowRecord& record) { record.used = 500; });
        }
        full.set(least, [](WindowRecord& record) { record.used = 499; });
        EXPECT_TRUE(full.add());
        EXPECT_FALSE(full.holds(least));
        EXPECT_EQ(contents_of(full.table).size(), 46U);
    }
}

TEST(WindowTable, HasNoRoomWhereNoWindowMayBeEvicted) {
    FullTable full(Truth::local, 1);
    const TableMemory before(full.memory);
    EXPECT_FALSE(full.table.update({1, 2}, now, [](WindowRecord&) { FAIL(); }));
    EXPECT_TRUE(full.memory == before);
    EXPECT_TRUE(count_one(full.table, full.known.at(4), 1));
    EXPECT_EQ(used_of(full.table, full.known.at(4)), 2);
    full.set(4, [](WindowRecord& record) { record.reset = now; });
    EXPECT_TRUE(full.add());
}

TEST(WindowTable, EvictsNothingWhereTheOtherSetHasRoom) {
    FullTable full;
    // The set that this window was in now has room, and no other set has.
    full.set(11, [](WindowRecord& record) { record.reset = 0; });
    EXPECT_TRUE(full.add());
    EXPECT_EQ(contents_of(full.table).size(), full.table.capacity());
    for (std::size_t i = 0; i < 46; ++i) {
        EXPECT_EQ(full.holds(i), i != 11);
    }
}

/// Charges the windows of so many keys that come only once.
void flood(WindowTable& table, int keys) {
    for (int i = 0; i < keys; ++i) {
        ASSERT_TRUE(count_one(table, table.id_of("throw-away " + std::to_string(i)), 1'000'000));
    }
}

TEST(Attack, AMillionKeysFlushNothingBelow80Percent) {
    TestTable made(1'300'000);
    std::vector<WindowId> others;
    for (int i = 0; i < 10'000; ++i) {
        others.push_back(made.table.id_of("client " + std::to_string(i)));
        ASSERT_TRUE(count_one(made.table, others.back(), i == 0 ? 1 : 1000));  // one is used up
    }
    flood(made.table, 1'000'000);
    for (const WindowId& id : others) {
        ASSERT_EQ(used_of(made.table, id), 1);
    }
}

TEST(Attack, AUsedUpWindowStaysHoweverFull) {
    TestTable made(2000);
    const WindowId attacker = made.table.id_of("attacker");
    ASSERT_TRUE(count_one(made.table, attacker, 1));
    flood(made.table, 100'000);
    EXPECT_EQ(used_of(made.table, attacker), 1);
}

TEST(Attack, KeysThatShareSetsUnderOneSecretDoNotUnderAnother) {
    constexpr std::size_t wanted = 150;
    TestTable known(700, {1, 2});
    TestTable secret(700, {1, 3});
    std::vector<std::string> keys;
    for (int i = 0; keys.size() < wanted; ++i) {
        std::string key = "key " + std::to_string(i);
        if (known.table.sets_of(known.table.id_of(key)) == known.table.sets_of(known.table.id_of("victim"))) {
            keys.push_back(std::move(key));
        }
    }
    std::set<std::size_t> left;
    std::set<std::size_t> right;
    for (const std::string& key : keys) {
        const WindowId id = secret.table.id_of(key);
        left.insert(secret.table.sets_of(id).first);
        right.insert(secret.table.sets_of(id).second);
        EXPECT_TRUE(count_one(known.table, known.table.id_of(key)));
        EXPECT_TRUE(count_one(secret.table, id));
    }
    EXPECT_EQ(contents_of(known.table).size(), 46U);
    EXPECT_EQ(contents_of(secret.table).size(), wanted);
    EXPECT_EQ(left.size(), secret.table.sets() / 2);
    EXPECT_EQ(right.size(), secret.table.sets() / 2);
}

TEST(WindowTable, ThreadsAgree) {
    TestTable made(46);
    constexpr int threads = 4;
    constexpr int rounds = 5000;
    constexpr int ids = 30;
    in_threads(threads, [&made](std::size_t thread) {
        WindowTable table = view_of(made.memory, static_cast<std::uint32_t>(thread + 1));
        for (std::size_t i = 0; i < std::size_t{rounds} * ids; ++i) {
            const std::uint64_t id = (i + thread) % ids;
            ASSERT_TRUE(count_one(table, {id << 32 | id, id}));
        }
    });
    const std::vector<WindowRecord> all = contents_of(made.table);
    EXPECT_EQ(all.size(), static_cast<std::size_t>(ids));
    for (const WindowRecord& record : all) {
        EXPECT_EQ(record.used, threads * rounds);
    }
}

}  // namespace
}  // namespace rate_limit::window_table_test
