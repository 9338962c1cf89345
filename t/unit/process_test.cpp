#include "core/table/process.h"

#include <csignal>

#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "table_memory.h"

namespace rate_limit::process_test {
namespace {

TEST(Process, ARunningOneIsAlive) {
    const Process self = process_of(static_cast<std::uint32_t>(::getpid()));
    EXPECT_NE(self.started, 0U);
    EXPECT_TRUE(is_alive(self));
    EXPECT_TRUE(is_alive(process_of(1)));
}

TEST(Process, IsDeadBeforeItsParentNoticesAndAfter) {
    const pid_t pid = in_child([] {
        for (;;) {
            ::pause();
        }
    });
    const Process child = process_of(static_cast<std::uint32_t>(pid));
    EXPECT_TRUE(is_alive(child));
    ASSERT_EQ(::kill(pid, SIGKILL), 0);
    siginfo_t info;
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT), 0);
    EXPECT_FALSE(is_alive(child));
    ASSERT_EQ(::waitpid(pid, nullptr, 0), pid);
    EXPECT_FALSE(is_alive(child));
}

TEST(Process, AnotherOneOfTheSameNumberIsNotTakenForIt) {
    Process before = process_of(static_cast<std::uint32_t>(::getpid()));
    before.started -= 1;
    EXPECT_FALSE(is_alive(before));
}

TEST(Process, AnUnknownStartMatchesAny) {
    EXPECT_TRUE(is_alive({static_cast<std::uint32_t>(::getpid()), 0}));
}

}  // namespace
}  // namespace rate_limit::process_test
