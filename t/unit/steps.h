#pragma once

#include <csignal>
#include <cstring>

#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "table_memory.h"

namespace rate_limit {

/// After this many instructions without a write, an operation is taken to wait for another process.
constexpr unsigned nobody_is_waited_for = ~0U;
constexpr unsigned others_are_waited_for = 1500;

/// Stops the process that asks whether another one is alive: it has waited for long enough then.
inline bool nobody_is_alive_but_wait(const Process& process) {
    (void)::raise(SIGSTOP);
    return nobody_is_alive(process);
}

/// A child that calls run(), and stops before and after that.
template <typename Run>
pid_t traced(Run&& run) {
    return in_child([&] {
        (void)::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
        (void)::raise(SIGSTOP);
        run();
        (void)::raise(SIGSTOP);
    });
}

/// Calls run() in a child, and visit(memory) for each state that the memory goes through. The child is not
/// stepped while it waits for others.
template <typename Run, typename Visit>
void each_state(const TableMemory& memory, Run run, unsigned waits, Visit visit) {
    const pid_t child = traced(run);
    int status = 0;
    TableMemory last(memory);
    unsigned unchanged = 0;
    while (::waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
        if (memory == last) {
            ++unchanged;
        } else {
            std::memcpy(last.at(), memory.at(), last.size());
            visit(last);
            unchanged = 0;
        }
        const bool waiting = unchanged >= waits;
        unchanged = waiting ? 0 : unchanged;
        ASSERT_EQ(::ptrace(waiting ? PTRACE_CONT : PTRACE_SINGLESTEP, child, nullptr, nullptr), 0);
    }
}

/// Calls run() in a child once for each of its instructions, and meanwhile() when it stands before that;
/// judge() when it has ended.
template <typename Run, typename Meanwhile, typename Judge>
void stopped_at_each(Run run, Meanwhile meanwhile, Judge judge) {
    bool ended = false;
    for (unsigned steps = 0; !ended; ++steps) {
        const pid_t child = traced(run);
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        for (unsigned step = 0; step < steps && !ended; ++step) {
            ASSERT_EQ(::ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr), 0);
            ASSERT_EQ(::waitpid(child, &status, 0), child);
            ended = !WIFSTOPPED(status) || WSTOPSIG(status) == SIGSTOP;
        }
        meanwhile();
        while (WIFSTOPPED(status)) {
            ASSERT_EQ(::ptrace(PTRACE_CONT, child, nullptr, nullptr), 0);
            ASSERT_EQ(::waitpid(child, &status, 0), child);
        }
        judge();
    }
}

inline bool may_trace() {
    const pid_t child = in_child([] { ::_exit(::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0 ? 0 : 1); });
    int status = 0;
    return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace rate_limit
