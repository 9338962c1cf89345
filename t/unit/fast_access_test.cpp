// How a process holds one record, and what becomes of that record when the process dies.

#include "core/table/fast_access.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <thread>
#include <utility>

#include <sys/wait.h>

#include <gtest/gtest.h>

#include "core/machine/records/window_record.h"
#include "core/table/locked_access.h"
#include "table_memory.h"

namespace rate_limit::fast_access_test {
namespace {

using Memory = RecordMemory<Record>;
using Access = FastAccess<Record>;
using Place = LockedAccess<Record>;

/// The memory of a table as one process sees it.
struct View {
    View(const TableMemory& shared, std::uint32_t pid, IsAlive is_alive = all_are_alive)
        : memory(LockUser{{pid, 1}, is_alive}) {
        EXPECT_TRUE(memory.attach(shared.at(), shared.size()));
    }
    Memory memory;
};

/// A table with one record, and process 2, which may take it.
struct OneRecord : TestTable {
    OneRecord() : TestTable(46) { count_one(table, {1, 1}); }

    View two{memory, 2};
    Access access{two.memory};
};

TEST(FastAccess, TakesARecordThatIsThereAndNoOther) {
    OneRecord one;
    EXPECT_FALSE(one.access.take({2, 1}));
    EXPECT_FALSE(one.access.take({1, 2}));
    ASSERT_TRUE(one.access.take({1, 1}));
    EXPECT_EQ(one.access.record().as<WindowRecord>().used, 1);
}

TEST(FastAccess, AnIdThatOnlySeemsToBeThereIsLeftAlone) {
    TestTable made(46);
    const WindowId known{1, 1};
    for (const WindowId& like : {WindowId{2, 1}, WindowId{1, 2}, WindowId{std::uint64_t{1} << 32, 1}}) {
        count_one(made.table, known);  // it has the same set, tag and home slot as the others
        const TableMemory before(made.memory);
        View view(made.memory, 1);
        EXPECT_FALSE(Access(view.memory).take(like));
        EXPECT_TRUE(made.memory == before);
        EXPECT_FALSE(made.table.find<WindowRecord>(like));
        EXPECT_TRUE(count_one(made.table, like));
        EXPECT_EQ(made.table.find<WindowRecord>(like)->used, 1);
    }
    EXPECT_EQ(made.table.find<WindowRecord>(known)->used, 3);
}

TEST(FastAccess, ZeroBytesAreNoRecord) {
    TestTable made(46);
    View view(made.memory, 2);
    EXPECT_FALSE(Access(view.memory).take({0, 0}));
    EXPECT_FALSE(made.table.find<WindowRecord>({0, 0}));
    EXPECT_TRUE(count_one(made.table, {0, 0}));
    EXPECT_TRUE(Access(view.memory).take({0, 0}));
}

TEST(FastAccess, NeedsAJournal) {
    OneRecord one;
    one.two.memory.journals().leave(0);
    EXPECT_FALSE(one.access.take({1, 1}));
    EXPECT_TRUE(Place(one.two.memory).find({1, 1}));
}

/// Another thread that holds a record for a while, changes it and releases it.
class HeldElsewhere {
public:
    HeldElsewhere(OneRecord& one, void (*change)(WindowRecord&)) {
        thread_ = std::thread([this, &one, change] {
            Access access(one.two.memory);
            EXPECT_TRUE(access.take({1, 1}));
            held_ = true;
            std::this_thread::sleep_for(std::chrono::milliseconds(30));
            WindowRecord record = access.record().as<WindowRecord>();
            change(record);
            access.keep(record);
        });
        while (!held_) {
            std::this_thread::yield();
        }
    }
    ~HeldElsewhere() { thread_.join(); }

private:
    std::atomic<bool> held_{false};
    std::thread thread_;
};

TEST(FastAccess, TheOwnerOfTheSetsLockWaitsForIt) {
    OneRecord one;
    View view(one.memory, 3);
    const HeldElsewhere held(one, [](WindowRecord& record) { record.used = 7; });
    Place place(view.memory);
    ASSERT_TRUE(place.find({1, 1}));
    EXPECT_EQ(place.record().as<WindowRecord>().used, 7);
}

TEST(FastAccess, ARecordDroppedMeanwhileIsNotFound) {
    OneRecord one;
    View view(one.memory, 3);
    {
        const HeldElsewhere held(one, [](WindowRecord& record) { record.reset = 0; });
        EXPECT_FALSE(Place(view.memory).find({1, 1}));
    }
    EXPECT_TRUE(contents_of(one.table).empty());
    EXPECT_TRUE(count_one(one.table, {1, 1}));
    EXPECT_EQ(one.table.find<WindowRecord>({1, 1})->used, 1);
}

TEST(RecordJournals, EachOwnerOfAJournalHasAnotherName) {
    TestTable made(46);
    std::set<Holder> names;
    constexpr std::uint32_t processes = 200;
    for (std::uint32_t pid = 10; pid < 10 + processes; ++pid) {
        View view(made.memory, pid, nobody_is_alive);
        ASSERT_TRUE(view.memory.journals().has_one());
        EXPECT_TRUE(names.insert(view.memory.journals().holder()).second)
            << "each process claims the first journal";
    }
}

bool all_but_two_are_alive(const Process& process) {
    return process.pid != 2;
}

TEST(RecordJournals, ADeadHoldersJournalIsKeptUntilItsSlotIsTakenOver) {
    OneRecord one;
    ASSERT_TRUE(one.access.take({1, 1}));
    const TableMemory death(one.memory);
    View comes_early(death, 3);  // it does not know yet that process 2 is dead
    for (std::uint32_t pid = 3; pid < 10; ++pid) {
        View comes(death, pid, all_but_two_are_alive);
        Access next(comes.memory);
        ASSERT_TRUE(next.take({1, 1}));
    }
    Access early(comes_early.memory);
    EXPECT_TRUE(early.take({1, 1}));
}

std::set<SlotNumber> orphans_of(View& view) {
    std::set<SlotNumber> held;
    view.memory.journals().with_orphans([&](SlotNumber number) { held.insert(number); });
    return held;
}

TEST(RecordJournals, AWaitingProcessKeepsItsNote) {
    TestTable made(46);
    View waits(made.memory, 3);
    View takes_over(made.memory, 4, all_but_two_are_alive);
    constexpr SlotNumber slot = 1;
    waits.memory.journals().begin_hold(slot);
    takes_over.memory.journals().finish(takes_over.memory.set(0).slot(0), slot);
    View heir(made.memory, 5, all_are_alive);
    heir.memory.journals().set_user({{5, 1}, nobody_is_alive});
    EXPECT_EQ(orphans_of(heir), std::set<SlotNumber>{slot});
}

/// The last deed of process 2: another process then asks whether it lives, and finds it dead.
std::function<void()> last_deed;

bool two_dies_when_asked_for(const Process& process) {
    if (process.pid == 2 && last_deed) {
        std::exchange(last_deed, nullptr)();
    }
    return process.pid != 2;
}

TEST(RecordJournals, AProcessThatDiesWhileAnotherLooksForAJournalKeepsItsOwn) {
    OneRecord one;
    last_deed = [&] { EXPECT_TRUE(one.access.take({1, 1})); };
    View comes(one.memory, 3, two_dies_when_asked_for);
    EXPECT_FALSE(last_deed);
    (void)::alarm(60);  // ends the test if this waits for ever
    EXPECT_TRUE(Access(comes.memory).take({1, 1}));
    (void)::alarm(0);
}

TEST(RecordJournals, ANoteOfAnotherSlotIsKept) {
    TestTable made(46);
    View dies(made.memory, 2);
    View takes_over(made.memory, 3);
    takes_over.memory.journals().set_user({{3, 1}, two_dies_when_asked_for});
    dies.memory.journals().begin_hold(1);
    last_deed = [&] { dies.memory.journals().begin_hold(2); };
    takes_over.memory.journals().finish(takes_over.memory.set(0).slot(0), 1);
    EXPECT_FALSE(last_deed);
    EXPECT_EQ(orphans_of(takes_over), std::set<SlotNumber>{2});
}

TEST(RecordJournals, ThoseOfTheDeadAreClaimedThoughNobodyWantsTheirRecords) {
    TestTable made(1000);
    Ids ids(1);
    for (std::size_t i = 0; i < Record::journals + 10; ++i) {  // more processes die than there are journals
        const WindowId id = ids.next();
        ASSERT_TRUE(count_one(made.table, id));
        const pid_t child = in_child([&] {
            made.table.set_user(this_process());
            made.table.change(id, [](WindowRecord&) { (void)::raise(SIGKILL); });
        });
        ASSERT_EQ(::waitpid(child, nullptr, 0), child);
        Memory next({{static_cast<std::uint32_t>(child), 1}, is_alive});  // its process is dead, too
        ASSERT_TRUE(next.attach(made.memory.at(), made.memory.size()));
        ASSERT_TRUE(next.journals().has_one()) << i;
    }
    EXPECT_EQ(contents_of(made.table).size(), Record::journals + 10);
}

}  // namespace
}  // namespace rate_limit::fast_access_test
