#include "core/counts/counter_table.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "table_memory.h"
#include "threads.h"

namespace rate_limit::counter_table_test {
namespace {

using Name = CounterTable::Name;
using Group = CounterTable::Group;

constexpr std::size_t default_size = std::size_t{64} * 1024;
constexpr Name others{1'000'003};

/// Processes that are only numbers: those from 1000 on are dead.
bool is_small(const Process& process) {
    return process.pid < 1000;
}

LockUser user(std::uint32_t pid) {
    return {{pid, 1}, is_small};
}

/// The table as one process sees it.
struct View : CounterTable {
    View(const TableMemory& memory, std::uint32_t pid, std::size_t workers = 2) {
        EXPECT_TRUE(use(memory.at(), memory.size(), user(pid), workers));
    }
};

/// Memory that is laid out, and the process that brings names to it.
struct Table {
    explicit Table(std::size_t size = default_size, std::size_t workers = 2) : memory(size) {
        EXPECT_TRUE(master.use(memory.at(), size, user(1), workers));
    }

    /// Returns how many of these names have no room.
    std::size_t configure(const std::vector<std::uint64_t>& digests) {
        std::vector<Name> names{others};
        std::transform(digests.begin(), digests.end(), std::back_inserter(names),
                       [](std::uint64_t digest) { return Name(digest); });
        CounterTable::Naming naming(master);
        naming.begin();
        for (const Name name : names) {
            naming.keep(name);
        }
        return static_cast<std::size_t>(
            std::count_if(names.begin(), names.end(), [&](Name name) { return !naming.add(name); }));
    }

    Group group(std::uint64_t digest) { return {master, Name(digest), others}; }

    TableMemory memory;
    CounterTable master;
};

Group group_of(View& view, std::uint64_t digest) {
    return {view, Name(digest), others};
}

/// Names without a common bit pattern, all apart in the bits that count.
std::uint64_t digest_of(std::uint64_t i) {
    return (i * 0x9e3779b97f4a7c15) & ~std::uint64_t{2};
}

std::vector<std::uint64_t> digests_of(std::size_t first, std::size_t count) {
    std::vector<std::uint64_t> digests;
    for (std::size_t i = 0; i < count; ++i) {
        digests.push_back(digest_of(first + i));
    }
    return digests;
}

TEST(CounterTable, CountsEachNameAndCounterByItself) {
    Table table;
    // The last two are to have the same place.
    const std::uint64_t same = 4 + std::uint64_t{table.master.groups()} * 4;
    ASSERT_EQ(table.configure({4, 8, same}), 0U);
    View worker(table.memory, 7);
    for (const std::uint64_t digest : {std::uint64_t{4}, std::uint64_t{8}, same}) {
        Group group = group_of(worker, digest);
        EXPECT_TRUE(group.has_place());
        for (std::size_t counter = 0; counter < CounterTable::group_size; ++counter) {
            EXPECT_EQ(group.count(counter), 0U);
            group.add(counter, digest + counter);
            group.add(counter, 1);
        }
    }
    for (const std::uint64_t digest : {std::uint64_t{4}, std::uint64_t{8}, same}) {
        for (std::size_t counter = 0; counter < CounterTable::group_size; ++counter) {
            EXPECT_EQ(table.group(digest).count(counter), digest + counter + 1);
        }
    }
}

TEST(CounterTable, SumsOverAllProcessesAlsoDeadOnes) {
    Table table(default_size, 2);
    ASSERT_EQ(table.master.slots(), 5U) << "for two workers, two that leave, and the rest";
    table.configure({4});
    // Two of the first four are dead, and their slots are taken; the last three share one.
    std::uint64_t sum = 0;
    for (const std::uint32_t pid : {7U, 1000U, 8U, 1001U, 9U, 10U, 11U, 12U, 13U}) {
        View worker(table.memory, pid);
        group_of(worker, 4).add(3, pid);
        sum += pid;
        EXPECT_EQ(table.group(4).count(3), sum);
    }
}

TEST(CounterTable, AProcessKeepsItsSlot) {
    Table table(default_size, 1);
    table.configure({4});
    // If each view took another slot, the third would share the rest's with process 8.
    for (int i = 0; i < 3; ++i) {
        View first(table.memory, 7, 1);
        View second(table.memory, 8, 1);
        group_of(first, 4).add(0, 1);
        group_of(second, 4).add(0, 1);
    }
    // In the cells, each of which is the first word of its line: two slots have counted 3.
    const auto* words = static_cast<const std::uint64_t*>(table.memory.at());
    std::size_t slots = 0;
    for (std::size_t word = 8; word < table.memory.size() / sizeof(*words); word += 8) {
        slots += words[word] == 3 ? 1 : 0;
    }
    EXPECT_EQ(slots, 2U);
    EXPECT_EQ(table.group(4).count(0), 6U);
}

TEST(CounterTable, KeepsCountsOverConfigurations) {
    Table table;
    table.configure({4, 8});
    View before(table.memory, 7);
    Group old = group_of(before, 4);
    old.add(1, 5);
    ASSERT_EQ(table.configure({8, 12}), 0U);
    old.add(1, 1);
    EXPECT_EQ(old.count(1), 6U) << "a worker that leaves counts on";
    ASSERT_EQ(table.configure({4}), 0U);
    EXPECT_EQ(table.group(4).count(1), 6U) << "a name that comes back goes on";
    EXPECT_TRUE(table.group(8).has_place());
}

TEST(CounterTable, ANameWithoutRoomCountsForAnother) {
    Table table;
    const std::size_t groups = table.master.groups();
    ASSERT_EQ(table.configure(digests_of(1, groups + 3)), 4U);
    View worker(table.memory, 7);
    std::size_t without = 0;
    for (const std::uint64_t digest : digests_of(1, groups + 3)) {
        Group group = group_of(worker, digest);
        without += group.has_place() ? 0 : 1;
        group.add(2, 1);
    }
    EXPECT_EQ(without, 4U);
    EXPECT_EQ(Group(table.master, others, others).count(2), 4U);
    EXPECT_EQ(table.group(digest_of(1)).count(2), 1U);
    EXPECT_EQ(table.group(digest_of(groups + 3)).count(2), 4U) << "read, too";
    Group nobody(worker, Name(77), Name(78));
    nobody.add(0, 1);
    EXPECT_EQ(nobody.count(0), 0U);
    EXPECT_FALSE(nobody.tell(1));
}

TEST(CounterTable, AFullTableGivesAwayWhatIsLongestOutOfUse) {
    Table table;
    const std::size_t room = table.master.groups() - 1;  // besides `others`
    ASSERT_EQ(table.configure(digests_of(0, room)), 0U);
    View old_worker(table.memory, 7);
    for (std::size_t i = 0; i < room; ++i) {
        group_of(old_worker, digest_of(i)).add(4, 100 + i);
    }
    EXPECT_TRUE(table.group(digest_of(0)).tell(5));
    Group gone = group_of(old_worker, digest_of(0));
    ASSERT_EQ(table.configure(digests_of(1, room - 1)), 0U) << "without the first";
    ASSERT_EQ(table.configure(digests_of(2, room - 2)), 0U) << "nor the second";
    std::vector<std::uint64_t> more = digests_of(2, room - 2);
    more.push_back(digest_of(1000));
    ASSERT_EQ(table.configure(more), 0U);

    EXPECT_FALSE(table.group(digest_of(0)).has_place());
    EXPECT_TRUE(table.group(digest_of(1)).has_place()) << "it was in use later";
    Group added = table.group(digest_of(1000));
    EXPECT_EQ(added.count(4), 0U) << "a new name begins at 0";
    EXPECT_TRUE(added.tell(5)) << "of it nothing was told";
    View new_worker(table.memory, 8);
    group_of(new_worker, digest_of(1000)).add(4, 1);
    gone.add(4, 7);
    EXPECT_EQ(added.count(4), 1U) << "what an old worker counts does not come here";
    EXPECT_EQ(Group(table.master, others, others).count(4), 7U);
    for (std::size_t i = 2; i < room; ++i) {
        ASSERT_EQ(table.group(digest_of(i)).count(4), 100 + i);
    }

    more.push_back(digest_of(0));
    ASSERT_EQ(table.configure(more), 0U);
    EXPECT_FALSE(table.group(digest_of(1)).has_place());
    EXPECT_EQ(table.group(digest_of(0)).count(4), 0U) << "it comes back, and its place was taken meanwhile";
    more.push_back(digest_of(1001));
    EXPECT_EQ(table.configure(more), 1U) << "what is in use is not given away";
}

TEST(CounterTable, TellsAChangeOnce) {
    Table table;
    table.configure({4, 8});
    View first(table.memory, 7);
    View second(table.memory, 8);
    EXPECT_FALSE(group_of(first, 4).tell(0)) << "nothing was told before";
    EXPECT_TRUE(group_of(first, 4).tell(17));
    EXPECT_FALSE(group_of(second, 4).tell(17));
    EXPECT_TRUE(group_of(second, 4).tell(18));
    EXPECT_TRUE(group_of(second, 8).tell(18)) << "each name by itself";
    table.configure({4});
    EXPECT_FALSE(group_of(first, 4).tell(18)) << "also over configurations";
}

TEST(CounterTable, OneProcessHasTheTurn) {
    Table table;
    View first(table.memory, 7);
    View second(table.memory, 8);
    EXPECT_TRUE(first.take_turn(0xffff'fb00, 1000));
    constexpr std::uint32_t start = 0xffff'ff00;  // the clock is about to begin anew
    EXPECT_EQ(first.pause(start, 1000), 0U);
    EXPECT_TRUE(first.take_turn(start, 1000));
    EXPECT_FALSE(second.take_turn(start, 1000));
    EXPECT_EQ(second.pause(start + 1, 1000), 999U);
    EXPECT_FALSE(second.take_turn(start + 999, 1000));
    EXPECT_TRUE(second.take_turn(start + 1000, 1000));
    EXPECT_FALSE(first.take_turn(start + 1000, 1000));
    EXPECT_FALSE(first.take_turn(start + 999, 1000)) << "its clock is behind";
    EXPECT_EQ(first.pause(start + 999, 1000), 1000U);
    EXPECT_TRUE(first.take_turn(start + 2000, 1000));
}

TEST(CounterTable, CountsMissesOfAllProcessesInARow) {
    Table table(default_size, 2);
    table.configure({4, 8});
    View first(table.memory, 7);
    View second(table.memory, 8);
    Group one = group_of(first, 4);
    Group two = group_of(second, 4);
    for (std::uint32_t i = 0; i < CounterTable::most_in_a_row; ++i) {
        EXPECT_EQ(table.group(4).misses_in_a_row(), i);
        (i % 2 == 0 ? one : two).miss(false);
    }
    one.miss(false);
    EXPECT_EQ(two.misses_in_a_row(), CounterTable::most_in_a_row) << "no more are counted";
    EXPECT_EQ(two.misses(), CounterTable::most_in_a_row + 1) << "but in all";
    two.hit();
    EXPECT_EQ(one.misses_in_a_row(), 0U) << "another process ends the row";
    EXPECT_EQ(one.misses(), CounterTable::most_in_a_row + 1);
    one.miss(false);
    two.miss(true);
    EXPECT_EQ(one.misses_in_a_row(), 1U) << "one that is in the row already";
    EXPECT_EQ(one.misses(), CounterTable::most_in_a_row + 3);
    EXPECT_EQ(one.count(0), 0U);
    EXPECT_EQ(table.group(8).misses(), 0U) << "another name has its own";
}

TEST(CounterTable, ANewNameBeginsWithoutMisses) {
    Table table;
    const std::size_t most = table.master.groups() - 1;
    table.configure(digests_of(0, most));
    for (const std::uint64_t digest : digests_of(0, most)) {
        table.group(digest).miss(false);
    }
    EXPECT_EQ(table.configure(digests_of(most, most)), 0U);
    for (const std::uint64_t digest : digests_of(most, most)) {
        EXPECT_EQ(table.group(digest).misses(), 0U);
        EXPECT_EQ(table.group(digest).misses_in_a_row(), 0U);
    }
    Group lost = table.group(digest_of(0));
    lost.miss(false);
    EXPECT_EQ(lost.misses(), 1U) << "that of the others";
    EXPECT_EQ(lost.misses_in_a_row(), 0U) << "whose row would be of many limits";
}

TEST(CounterTable, FitsItsMemory) {
    CounterTable table;
    EXPECT_FALSE(table.use(nullptr, default_size, user(1), 1));
    for (std::size_t size = 0; size < 600; ++size) {
        TableMemory memory(std::max<std::size_t>(size, 1));
        EXPECT_EQ(table.use(memory.at(), size, user(1), 1), size >= 64 + 8 + 64 + 96 + 64) << size;
    }
    for (const std::size_t size : {std::size_t{5248}, std::size_t{8192}, default_size, default_size + 24}) {
        for (const std::size_t workers : {1U, 2U, 40U, 1000U}) {
            Table full(size, workers);
            EXPECT_GE(full.master.groups(), 17U);
            EXPECT_EQ(full.configure(digests_of(0, full.master.groups() - 1)), 0U);
            std::vector<std::unique_ptr<View>> views;
            for (std::uint32_t pid = 2; pid < 200; ++pid) {
                views.push_back(std::make_unique<View>(full.memory, pid, workers));
                for (const std::uint64_t digest : digests_of(0, full.master.groups() - 1)) {
                    group_of(*views.back(), digest).add(7, 1);  // to the last byte: the memory ends there
                }
            }
            EXPECT_EQ(full.group(digest_of(0)).count(7), 198U);
        }
    }
}

TEST(CounterTable, IsExactForManyAtATime) {
    Table table(default_size, 2);
    table.configure({4, 8});
    constexpr std::uint32_t threads = 8;  // more than slots
    constexpr std::uint64_t rounds = 20'000;
    std::atomic<bool> falls{false};
    in_threads(threads, [&table, &falls](std::size_t thread) {
        View view(table.memory, static_cast<std::uint32_t>(10 + thread));
        Group first = group_of(view, 4);
        Group second = group_of(view, 8);
        std::uint64_t seen = 0;
        for (std::uint64_t n = 0; n < rounds; ++n) {
            first.add(0, 1);
            second.add(n % CounterTable::group_size, 2);
            const std::uint64_t count = n % 16 == 0 ? first.count(0) : seen;
            if (count < seen) {
                falls = true;
            }
            seen = count;
        }
    });
    EXPECT_FALSE(falls);
    EXPECT_EQ(table.group(4).count(0), threads * rounds);
    for (std::size_t counter = 0; counter < CounterTable::group_size; ++counter) {
        EXPECT_EQ(table.group(8).count(counter), 2 * threads * rounds / CounterTable::group_size);
    }
}

TEST(CounterTable, ConfigurationsMayChangeWhileOthersCount) {
    Table table(16384, 2);
    const std::size_t room = table.master.groups() - 2;
    table.configure({digest_of(5000)});
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> added{0};
    in_threads(4, [&](std::size_t thread) {
        if (thread == 0) {
            for (std::size_t n = 0; n < 2000; ++n) {
                std::vector<std::uint64_t> names = digests_of(n % (2 * room), room / 2);
                names.push_back(digest_of(5000));
                EXPECT_EQ(table.configure(names), 0U);
            }
            stop = true;
            return;
        }
        View view(table.memory, static_cast<std::uint32_t>(10 + thread));
        for (std::uint64_t n = 0; !stop; ++n) {
            group_of(view, digest_of(5000)).add(0, 1);
            group_of(view, digest_of(n % (3 * room))).add(0, 1);
            ++added;
        }
    });
    EXPECT_EQ(table.group(digest_of(5000)).count(0), added);
}

/// Real processes, killed while they count: what each has said to have counted is in the sum.
TEST(CounterTable, AKilledProcessLosesNothing) {
    Table table(default_size, 1);
    table.configure({4});
    TableMemory shared(4096);
    auto* said = static_cast<std::atomic<std::uint64_t>*>(shared.at());
    constexpr std::uint64_t rounds = 30;
    for (std::uint64_t round = 0; round < rounds; ++round) {
        const std::uint64_t before = said->load();
        const pid_t pid = in_child([&] {
            CounterTable counters;
            if (!counters.use(table.memory.at(), table.memory.size(), this_process(), 1)) {
                ::_exit(1);
            }
            Group group(counters, Name(4), others);
            for (;;) {
                group.add(0, 1);
                said->fetch_add(1);
            }
        });
        while (said->load() < before + 1000 * (round % 3 + 1)) {
            std::this_thread::yield();
        }
        ASSERT_EQ(::kill(pid, SIGKILL), 0);
        ASSERT_EQ(::waitpid(pid, nullptr, 0), pid);
        ASSERT_GE(table.group(4).count(0), said->load());
        ASSERT_LE(table.group(4).count(0), said->load() + round + 1) << "each dies at most once in between";
    }
}

TEST(CounterTable, WorkersAddNamesWhileTheyRun) {
    Table table;
    const std::size_t room = table.master.groups() - 1;  // besides `others`
    table.configure(digests_of(0, room - 2));
    View worker(table.memory, 7);
    EXPECT_FALSE(group_of(worker, digest_of(1000)).has_place());
    for (const std::size_t name : {1000U, 1001U, 1000U}) {
        EXPECT_TRUE(CounterTable::Naming(worker).add(Name(digest_of(name))));
    }
    group_of(worker, digest_of(1000)).add(1, 5);
    EXPECT_EQ(table.group(digest_of(1000)).count(1), 5U);
    EXPECT_FALSE(CounterTable::Naming(worker).add(Name(digest_of(1002)))) << "all names are in use";

    CounterTable::Naming(worker).drop(Name(digest_of(1000)));
    EXPECT_EQ(table.group(digest_of(1000)).count(1), 5U) << "until the place is needed";
    EXPECT_TRUE(CounterTable::Naming(worker).add(Name(digest_of(1002))));
    EXPECT_FALSE(table.group(digest_of(1000)).has_place());
    EXPECT_EQ(table.group(digest_of(1002)).count(1), 0U);
    EXPECT_TRUE(table.group(digest_of(1001)).has_place());
}

/// Real processes, killed while they bring names: no place is lost.
TEST(CounterTable, AKilledProcessLosesNoPlace) {
    Table table(16384, 1);
    const std::size_t room = table.master.groups() - 1;
    TableMemory shared(4096);
    auto* rounds = static_cast<std::atomic<std::uint64_t>*>(shared.at());
    table.configure({});
    for (std::uint64_t round = 0; round < 30; ++round) {
        const std::uint64_t before = rounds->load();
        const pid_t pid = in_child([&] {
            CounterTable counters;
            if (!counters.use(table.memory.at(), table.memory.size(), this_process(), 1)) {
                ::_exit(1);
            }
            for (;;) {
                const Name name(digest_of(rounds->fetch_add(1)));
                CounterTable::Naming naming(counters);
                naming.add(name);
                naming.drop(name);
            }
        });
        while (rounds->load() < before + 1000 * (round % 3 + 1)) {
            std::this_thread::yield();
        }
        ASSERT_EQ(::kill(pid, SIGKILL), 0);
        ASSERT_EQ(::waitpid(pid, nullptr, 0), pid);
        ASSERT_TRUE(table.master.use(table.memory.at(), table.memory.size(), this_process(), 1));
        ASSERT_EQ(table.configure(digests_of(1'000'000 + round * 1000, room)), 0U);
        table.configure({});
    }
}

}  // namespace
}  // namespace rate_limit::counter_table_test
