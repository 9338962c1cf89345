// Every kind of change, stopped after each of its instructions: if the process died there, the table would
// hold exactly what it held before the change or exactly what it holds after it, and would go on working.

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "core/machine/records/window_record.h"
#include "steps.h"
#include "table_memory.h"

// On other processors an atomic exchange is two instructions, and a stop between them may undo the first one,
// again and again.
#if defined(__x86_64__)

namespace rate_limit::window_table_step_test {
namespace {

constexpr std::size_t windows = 46;  // two sets: every id may be in both

/// Ids in whose lower half all bits are set but a few, so that all bits of their tags are.
constexpr WindowId id(std::uint64_t number) {
    return {number, ~number};
}

using Operation = bool (*)(WindowTable&);

/// The operations on the table whose instructions are stepped through.
constexpr Operation count_first = [](WindowTable& table) { return count_one(table, id(1)); };
constexpr Operation count_second = [](WindowTable& table) { return count_one(table, id(2)); };
bool change_all_of(WindowTable& table, const WindowId& id) {
    return table.change(id, [](WindowRecord& record) {
        record.reset = table_now + 5;
        record.used = -1;
        record.limit = 0xff'ffff'ffff;
        record.events = 0xf'ffff;
        record.same_answers = 7;
        record.leased = 0xff'ffff'ffff;
        record.unanswered = WindowRecord::max_unanswered;
        record.asked_or_told = ~0U;
        record.changed = ~0U;
        record.ticket = ~Ticket{0};
        record.in_flight = WindowRecord::max_in_flight;
        record.truth = Truth::redis;
        record.confirmed = true;
    });
}
constexpr Operation change_all_of_it = [](WindowTable& table) { return change_all_of(table, id(1)); };
bool forget_id(WindowTable& table, const WindowId& id) {
    return table.change(id, [](WindowRecord& record) { record.reset = 0; });
}
constexpr Operation forget = [](WindowTable& table) { return forget_id(table, id(1)); };
constexpr Operation evict = [](WindowTable& table) { return count_one(table, id(100)); };

/// Another id with the same left set and the same lower half, so the same tag and home slot: it is found
/// under the set's lock only.
constexpr WindowId twin{3, id(1).low};
constexpr Operation count_twin = [](WindowTable& table) { return count_one(table, twin); };
constexpr Operation change_all_of_twin = [](WindowTable& table) { return change_all_of(table, twin); };
constexpr Operation forget_twin = [](WindowTable& table) { return forget_id(table, twin); };

/// Operations of a process without a journal.
constexpr Operation count_without = [](WindowTable& table) {
    table.leave(0);
    return count_first(table);
};
constexpr Operation forget_without = [](WindowTable& table) {
    table.leave(0);
    return forget(table);
};

struct Step {
    const char* name;
    bool full;  // the table is filled before
    Operation run;
};

constexpr Step steps[] = {
    {"insert", false, count_first},
    {"insert beside", false, count_second},
    {"count", false, count_first},
    {"count in the other set", false, count_second},
    {"change all", false, change_all_of_it},
    {"forget", false, forget},
    {"insert once more", false, count_first},
    {"insert a twin", false, count_twin},
    {"count a twin", false, count_twin},
    {"change all of a twin", false, change_all_of_twin},
    {"forget a twin", false, forget_twin},
    {"evict", true, evict},
    {"count without a journal", true, count_without},
    {"forget without a journal", true, forget_without},
};

/// How the process that finds another one dead, its heir, uses the table: it attaches to it after the death,
/// or it was there before, and then first walks over all of the table, or first looks for single records.
enum class Heir { comes, walks, looks };

bool others_live = false;

bool others_may_live(const Process& /*process*/) {
    return others_live;
}

/// The records of this copy of the table, as a process sees them that finds all others dead.
std::vector<WindowRecord> seen_by(Heir kind, TableMemory copy, bool& goes_on) {
    others_live = kind != Heir::comes;
    WindowTable heir = view_of(copy, 9, others_may_live);
    others_live = false;
    std::vector<std::optional<WindowRecord>> looked_for;
    constexpr std::array known{id(1), id(2), twin};
    if (kind == Heir::looks) {
        std::transform(known.begin(), known.end(), std::back_inserter(looked_for),
                       [&](const WindowId& id) { return heir.find<WindowRecord>(id); });
    }
    std::vector<WindowRecord> all = contents_of(heir);
    for (const WindowRecord& record : all) {
        const auto found = heir.find<WindowRecord>(record.id);
        EXPECT_TRUE(found && *found == record);
    }
    for (std::size_t i = 0; i < looked_for.size(); ++i) {
        EXPECT_EQ(heir.find<WindowRecord>(known.at(i)), looked_for.at(i));
    }
    goes_on = count_one(heir, id(7)) && count_one(heir, id(8)) && heir.find<WindowRecord>(id(7))->used >= 1;
    return all;
}

/// Steps through an operation on the table of process 1.
template <typename Visit>
void each_state(TestTable& made, const Operation operation, unsigned waits, Visit visit) {
    each_state(
        made.memory, [&] { (void)operation(made.table); }, waits, visit);
}

/// How many states had the table as before the change, and how many as after it.
struct Seen {
    std::size_t before = 0;
    std::size_t after = 0;
};

void step_through(const Step& step, TestTable& made, Seen& seen) {
    TableMemory done(made.memory);
    WindowTable other = view_of(done, 1);
    const std::vector<WindowRecord> before = contents_of(other);
    ASSERT_TRUE(step.run(other));
    const std::vector<WindowRecord> after = contents_of(other);
    ASSERT_FALSE(before == after);

    bool published = false;
    each_state(made, step.run, nobody_is_waited_for, [&](const TableMemory& state) {
        std::optional<bool> done_here;
        for (const Heir heir : {Heir::comes, Heir::walks, Heir::looks}) {
            bool goes_on = false;
            const std::vector<WindowRecord> here = seen_by(heir, state, goes_on);
            EXPECT_TRUE(goes_on);
            EXPECT_TRUE(here == before || here == after) << "half a change";
            EXPECT_EQ(done_here.value_or(here == after), here == after) << "heirs do not agree";
            done_here = here == after;
        }
        EXPECT_FALSE(published && !*done_here) << "the change was undone";
        published = *done_here;
        ++(published ? seen.after : seen.before);
    });
    EXPECT_TRUE(published);
}

TEST(WindowTableStep, EachInstructionLeavesTheOldOrTheNew) {
    if (!may_trace()) {
        GTEST_SKIP() << "no process may be traced here";
    }
    TestTable made(windows);
    for (const Step& step : steps) {
        SCOPED_TRACE(step.name);
        if (step.full) {
            for (std::uint64_t i = 1; i <= made.table.capacity(); ++i) {
                ASSERT_TRUE(count_one(made.table, id(i)));
            }
        }
        made.table.set_user(LockUser{{1, 1}, all_are_alive});
        Seen seen;
        step_through(step, made, seen);
        // At least: the lock is taken; the change is made; the lock is released.
        EXPECT_GE(seen.before, 1U);
        EXPECT_GE(seen.after, 2U);
    }
}

/// An operation of a process that finds all others dead.
constexpr Operation count_as_heir = [](WindowTable& table) {
    table.set_user({{2, 2}, nobody_is_alive_but_wait});
    return count_one(table, id(1));
};
constexpr Operation count_as_heir_without = [](WindowTable& table) {
    table.set_user({{2, 2}, nobody_is_alive_but_wait});
    return count_without(table);
};

/// Contents of the table after these operations.
std::vector<WindowRecord> after(const TableMemory& memory, const std::vector<Operation>& operations) {
    TableMemory copy(memory);
    WindowTable table = view_of(copy, 1);
    for (const Operation operation : operations) {
        EXPECT_TRUE(operation(table));
    }
    return contents_of(table);
}

/// One process dies somewhere in a change, and the process that comes after it dies somewhere in its own
/// change.
void die_twice(TestTable& made, const Operation first, const Operation second, Seen& seen) {
    const TableMemory start(made.memory);
    const auto none = after(start, {});
    const auto one = after(start, {first});
    const auto other = after(start, {count_first});
    const auto both = after(start, {first, count_first});
    std::vector<TableMemory> deaths;
    each_state(made, first, nobody_is_waited_for, [&](const TableMemory& state) { deaths.push_back(state); });
    for (const TableMemory& death : deaths) {
        std::memcpy(made.memory.at(), death.at(), death.size());
        each_state(made, second, others_are_waited_for, [&](const TableMemory& state) {
            bool goes_on = false;
            const auto here = seen_by(Heir::comes, state, goes_on);
            EXPECT_TRUE(goes_on);
            EXPECT_TRUE(here == none || here == one || here == other || here == both) << "half a change";
            ++(here == none || here == one ? seen.before : seen.after);
        });
    }
    std::memcpy(made.memory.at(), start.at(), start.size());
}

TEST(WindowTableStep, ASecondDeathLeavesNoHalfChangeEither) {
    if (!may_trace()) {
        GTEST_SKIP() << "no process may be traced here";
    }
    TestTable made(windows);
    ASSERT_TRUE(count_one(made.table, id(1)) && count_one(made.table, twin));
    struct Two {
        const char* name;
        Operation first, second;
    };
    for (const Two& two :
         {Two{"change", change_all_of_it, count_as_heir}, Two{"insert", count_second, count_as_heir},
          Two{"change a twin", change_all_of_twin, count_as_heir},
          Two{"no journal, no journal", count_without, count_as_heir_without}}) {
        SCOPED_TRACE(two.name);
        Seen seen;
        die_twice(made, two.first, two.second, seen);
        EXPECT_GE(seen.before, 1U);
        EXPECT_GE(seen.after, 1U);
    }
}

}  // namespace
}  // namespace rate_limit::window_table_step_test

#endif
