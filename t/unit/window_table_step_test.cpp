// Every instruction of every kind of change, one after the other: if the process that makes it died there,
// the table would hold exactly what it held before or exactly what it holds after, and would go on working.

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "core/window_table.h"
#include "table_memory.h"

// Elsewhere a step between the two instructions of an atomic exchange may undo the first one, for ever.
#if defined(__x86_64__)

namespace rate_limit {
namespace {

constexpr std::size_t windows = 46;  // two sets: every id may be in both

/// Every bit of what a set remembers of an id may be set.
constexpr WindowId id(std::uint64_t number) {
    return {number, ~number};
}

using Operation = bool (*)(WindowTable&);

/// What happens to a table in which ids 1 to 46 are to find their places.
constexpr Operation insert_first = [](WindowTable& table) { return count_one(table, id(1)); };
constexpr Operation insert_second = [](WindowTable& table) { return count_one(table, id(2)); };
constexpr Operation count_in_left = [](WindowTable& table) { return count_one(table, id(1)); };
constexpr Operation count_in_right = [](WindowTable& table) { return count_one(table, id(2)); };
constexpr Operation change_all_of_it = [](WindowTable& table) {
    return table.change(id(1), [](WindowRecord& record) {
        record.reset = table_now + 5;
        record.used = -1;
        record.limit = 0xff'ffff'ffff;
        record.events = 0xff'ffff;
        record.leased = 0xff'ffff'ffff;
        record.unanswered = WindowRecord::max_unanswered;
        record.asked = ~0U;
        record.changed = ~0U;
        record.ticket = ~Ticket{0};
        record.in_flight = WindowRecord::max_in_flight;
        record.truth = Truth::redis;
        record.confirmed = true;
    });
};
constexpr Operation forget = [](WindowTable& table) {
    return table.change(id(1), [](WindowRecord& record) { record.reset = 0; });
};
constexpr Operation evict = [](WindowTable& table) { return count_one(table, id(100)); };

struct Step {
    const char* name;
    bool full;  // the table is filled before
    Operation run;
};

constexpr Step steps[] = {
    {"insert", false, insert_first},
    {"insert beside", false, insert_second},
    {"count", false, count_in_left},
    {"count in the other set", false, count_in_right},
    {"change all", false, change_all_of_it},
    {"forget", false, forget},
    {"evict", true, evict},
};

/// The table as it stands in this copy, seen by one who finds everybody else dead.
std::vector<WindowRecord> seen_by_an_heir(TableMemory& copy, bool& goes_on) {
    WindowTable heir({{9, 9}, nobody_is_alive});
    EXPECT_TRUE(heir.attach(copy.at(), copy.size()));
    std::vector<WindowRecord> all = contents_of(heir);
    for (const WindowRecord& record : all) {
        const auto found = heir.find(record.id);
        EXPECT_TRUE(found && *found == record);
    }
    goes_on = count_one(heir, id(7)) && count_one(heir, id(8)) && heir.find(id(7))->used >= 1;
    return all;
}

void stop_and_run(const Operation operation, WindowTable& table) {
    (void)::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    (void)::raise(SIGSTOP);
    (void)operation(table);
    (void)::raise(SIGSTOP);
    ::_exit(0);
}

/// How many of the states that the child went through were looked at.
struct Seen {
    std::size_t before = 0;
    std::size_t after = 0;
};

void step_through(const Step& step, TestTable& made, Seen& seen) {
    TableMemory done(made.memory);
    WindowTable other({{1, 1}, all_are_alive});
    ASSERT_TRUE(other.attach(done.at(), done.size()));
    const std::vector<WindowRecord> before = contents_of(other);
    ASSERT_TRUE(step.run(other));
    const std::vector<WindowRecord> after = contents_of(other);
    ASSERT_FALSE(before == after);

    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        stop_and_run(step.run, made.table);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    TableMemory last(made.memory);
    bool published = false;
    for (bool first = true; ::ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr) == 0; first = false) {
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        if (!WIFSTOPPED(status) || (WSTOPSIG(status) == SIGSTOP && !first)) {
            break;
        }
        if (made.memory == last) {
            continue;
        }
        const TableMemory now_here(made.memory);
        std::memcpy(last.at(), now_here.at(), last.size());
        TableMemory copy(now_here);
        bool goes_on = false;
        const std::vector<WindowRecord> here = seen_by_an_heir(copy, goes_on);
        ASSERT_TRUE(goes_on);
        ASSERT_TRUE(here == before || here == after) << "half a change";
        ASSERT_FALSE(published && here == before) << "undone";
        published = here == after;
        ++(published ? seen.after : seen.before);
    }
    ASSERT_TRUE(published);
    (void)::kill(child, SIGKILL);
    (void)::waitpid(child, &status, 0);
}

bool may_trace() {
    const pid_t child = ::fork();
    if (child == 0) {
        ::_exit(::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0 ? 0 : 1);
    }
    int status = 0;
    return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
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
        Seen seen;
        step_through(step, made, seen);
        if (HasFatalFailure()) {
            return;
        }
        // A lock is taken, a change made, the lock given back.
        EXPECT_GE(seen.before, 1U);
        EXPECT_GE(seen.after, 2U);
    }
}

}  // namespace
}  // namespace rate_limit

#endif
