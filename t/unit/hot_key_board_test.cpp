#include "core/counts/hot_keys.h"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "table_memory.h"

namespace rate_limit::hot_key_board_test {
namespace {

constexpr Millis start = table_now / HotKeyBoard::minute * HotKeyBoard::minute;
constexpr std::uint64_t this_minute = HotKeyBoard::minute_of(start);
constexpr std::uint32_t patience = HotKeyBoard::patience;

/// When the sums of this minute are complete.
constexpr Millis then = start + HotKeyBoard::minute + HotKeyBoard::patience;

HotKeys some(std::uint64_t id, int count) {
    HotKeys keys;
    for (int i = 0; i < count; ++i) {
        keys.raise(keys.find(id), id);
    }
    return keys.named([id](std::size_t) { return HotKeys::Key{id, id + 1, 0, 0}; });
}

/// A board with room for so many shards, as one process sees it.
struct Board : TableMemory {
    explicit Board(std::size_t shards) : TableMemory(HotKeyBoard::bytes_for(shards)) {
        EXPECT_TRUE(board.use(at(), size(), this_process()));
    }

    void add(std::uint64_t shard, std::uint64_t minute, std::uint64_t commands, std::uint32_t ticks = 0,
             const HotKeys& keys = some(9, 3)) {
        const std::string name = "shard " + std::to_string(shard);
        board.add({1, shard, name}, minute, commands, keys, ticks);
    }

    std::optional<HotKeyBoard::Sum> take(Millis now = then, std::uint32_t ticks = patience) {
        HotKeyBoard::Sum sum;
        return board.take(now, ticks, sum) ? std::optional<HotKeyBoard::Sum>(sum) : std::nullopt;
    }

    HotKeyBoard board;
};

TEST(HotKeyBoard, AddsUpWhatProcessesHaveSent) {
    Board board(2);
    board.add(5, this_minute, 100, 0, some(9, 3));
    HotKeyBoard other;
    ASSERT_TRUE(other.use(board.at(), board.size(), this_process()));
    other.add({1, 5, "shard 5"}, this_minute, 50, some(9, 2), 0);
    const auto sum = board.take();
    ASSERT_TRUE(sum);
    EXPECT_EQ(sum->commands, 150U);
    EXPECT_EQ(sum->store, 1U);
    EXPECT_EQ(sum->name, "shard 5");
    EXPECT_EQ(sum->keys.keys()[0].id, 9U);
    EXPECT_EQ(sum->keys.keys()[0].limit, 10U);
    EXPECT_EQ(sum->keys.keys()[0].certain(), 5U);
    EXPECT_FALSE(board.take()) << "once";
}

TEST(HotKeyBoard, WaitsUntilTheMinuteIsOverAndAllHaveAdded) {
    Board board(1);
    board.add(5, this_minute, 100, 1000);
    EXPECT_FALSE(board.take(start + 59'999, 100'000)) << "it is not over";
    EXPECT_FALSE(board.take(then - 1, 100'000)) << "others may be adding";
    EXPECT_FALSE(board.take(then, 1000 + patience - 1)) << "somebody added just now";
    EXPECT_TRUE(board.take(then, 1000 + patience));
}

TEST(HotKeyBoard, TicksMayWrapAround) {
    Board board(1);
    board.add(5, this_minute, 100, 0xffffffff);
    EXPECT_FALSE(board.take(then, patience - 2));
    EXPECT_TRUE(board.take(then, patience - 1));
}

TEST(HotKeyBoard, TellsWhereTheClockIsSetBack) {
    Board board(1);
    board.add(5, this_minute, 100);
    EXPECT_TRUE(board.take(start - 3'600'000)) << "it will not come to an end soon";
    board.add(5, this_minute - 60, 70);
    EXPECT_EQ(board.take()->commands, 70U) << "and the earlier minute counts";
}

TEST(HotKeyBoard, WhatComesTooLateDoesNotCount) {
    Board board(1);
    board.add(5, this_minute, 100);
    ASSERT_TRUE(board.take());
    board.add(5, this_minute, 50);
    EXPECT_FALSE(board.take());
    board.add(5, this_minute + 1, 30);
    board.add(5, this_minute, 50);
    EXPECT_EQ(board.take(then + HotKeyBoard::minute)->commands, 30U);
}

TEST(HotKeyBoard, AMinuteBeginsAnew) {
    Board board(1);
    board.add(5, this_minute, 100, 0, some(9, 3));
    board.add(5, this_minute + 1, 30, 0, some(8, 1));
    const auto sum = board.take(then + HotKeyBoard::minute);
    EXPECT_EQ(sum->commands, 30U);
    EXPECT_EQ(sum->keys.noted(), 1U);
}

/// Else one process would find room and the next none, or the other way round, and a sum would be a part.
TEST(HotKeyBoard, HasRoomForAShardInAMinuteOrNot) {
    Board board(2);
    for (const std::uint64_t shard : {5, 6, 7, 7}) {
        board.add(shard, this_minute, shard);
    }
    EXPECT_EQ(board.take()->commands, 5U);
    EXPECT_EQ(board.take()->commands, 6U);
    EXPECT_FALSE(board.take()) << "none for the third";
    for (const std::uint64_t shard : {7, 5, 7, 6}) {
        board.add(shard, this_minute + 1, shard);
    }
    EXPECT_EQ(board.take(then + HotKeyBoard::minute)->commands, 5U);
    EXPECT_EQ(board.take(then + HotKeyBoard::minute)->commands, 6U);
    EXPECT_FALSE(board.take(then + HotKeyBoard::minute)) << "while others may come back";
    board.add(7, this_minute + 3, 7);
    EXPECT_EQ(board.take(then + 3 * HotKeyBoard::minute)->commands, 7U) << "but of one that is gone";
}

TEST(HotKeyBoard, FitsItsMemory) {
    Board board(1);
    EXPECT_EQ(board.board.shards(), 1U);
    HotKeyBoard small;
    EXPECT_FALSE(small.use(static_cast<char*>(board.at()) + 1, board.size(), this_process()))
        << "it lies askew";
}

TEST(HotKeyBoard, MayHaveNoRoom) {
    Board board(0);
    EXPECT_EQ(board.board.shards(), 0U);
    board.add(5, this_minute, 100);
    EXPECT_FALSE(board.take());
}

TEST(HotKeyBoard, HasNoRoomForALongName) {
    Board board(1);
    const std::string longest(HotKeyBoard::most_name, 'x');
    board.board.add({1, 5, longest + "x"}, this_minute, 100, some(9, 3), 0);
    EXPECT_FALSE(board.take());
    board.board.add({1, 5, longest}, this_minute, 100, some(9, 3), 0);
    EXPECT_EQ(board.take()->name, longest);
}

/// Each sum is told, and has all parts that were added, or one more, of the process that died. A part has as
/// many commands as keys noted, so the two are equal unless a change was half made.
TEST(HotKeyBoard, SurvivesProcessesThatDie) {
    Board board(1);
    TableMemory counter(4096);
    auto* const added = new (counter.at()) std::atomic<std::uint64_t>(0);
    std::uint64_t minute = this_minute;
    for (int round = 0; round < 300; ++round, ++minute) {
        added->store(0);
        const pid_t child = in_child([&] {
            HotKeyBoard mine;
            if (!mine.use(board.at(), board.size(), this_process())) {
                return;
            }
            const HotKeys keys = some(9, 4);
            for (;;) {
                mine.add({1, 5, "shard 5"}, minute, 4, keys, 0);
                added->fetch_add(1);
            }
        });
        while (added->load() < 20) {
            sched_yield();
        }
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);
        board.add(5, minute, 3);
        const auto sum =
            board.take(start + static_cast<Millis>(minute - this_minute + 1) * HotKeyBoard::minute + 9999);
        ASSERT_TRUE(sum);
        EXPECT_EQ(sum->commands, sum->keys.noted());
        EXPECT_EQ(sum->commands, sum->keys.keys()[0].certain());
        EXPECT_GE(sum->commands, 4 * added->load() + 3);
        EXPECT_LE(sum->commands, 4 * added->load() + 7);
    }
}

}  // namespace
}  // namespace rate_limit::hot_key_board_test
