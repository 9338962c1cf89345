// A world that ends the program is named.

#include <csignal>
#include <cstdlib>

#include <gtest/gtest.h>

#include "t/world/last_words.h"

namespace rate_limit::world::last_words_test {
namespace {

void die_by(int signal) {
    const LastWords words(77);
    (void)std::raise(signal);
}

[[noreturn]] void never_end() {
    const LastWords words(78, 1, "FAR=1 ");
    for (volatile unsigned turns = 0;; turns = turns + 1) {
    }
}

TEST(AWorldThatEndsTheProgram, IsNamed) {
    EXPECT_EXIT(die_by(SIGABRT), testing::KilledBySignal(SIGABRT), "seed 77: .*make world SEED=77");
    EXPECT_EXIT(die_by(SIGSEGV), testing::KilledBySignal(SIGSEGV), "seed 77: .*make world SEED=77");
}

TEST(AWorldThatEndsTheProgram, IsNamedWhereItNeverEnds) {
    EXPECT_EXIT(never_end(), testing::ExitedWithCode(1), "seed 78: .*make world FAR=1 SEED=78");
}

TEST(AWorldThatHasEnded, IsNotNamed) {
    const auto die_later = [] {
        { const LastWords words(79); }
        std::abort();
    };
    EXPECT_EXIT(die_later(), testing::KilledBySignal(SIGABRT), "^$");
}

}  // namespace
}  // namespace rate_limit::world::last_words_test
