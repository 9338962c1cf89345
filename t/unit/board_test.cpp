#include "core/table/board.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/text/kept_text.h"
#include "steps.h"
#include "table_memory.h"
#include "threads.h"

namespace rate_limit::board_test {
namespace {

/// Whole, if all its numbers are the same.
struct Numbers {
    std::array<std::uint64_t, 6> all{};
};

constexpr Numbers numbers(std::uint64_t number) {
    return {{number, number, number, number, number, number}};
}

using NumberBoard = Board<Numbers, std::atomic<std::uint64_t>>;

/// A board as one process sees it.
struct View : NumberBoard {
    explicit View(const TableMemory& memory, IsAlive is_alive = all_are_alive, std::uint32_t pid = 1) {
        EXPECT_TRUE(use(memory.at(), memory.size(), 100, LockUser{{pid, 1}, is_alive}));
    }

    void write(std::size_t at, std::uint64_t number) { Writing(*this).write(at, numbers(number)); }

    /// The numbers of all records, each of which is whole.
    std::vector<std::uint64_t> contents() const {
        std::vector<std::uint64_t> all;
        for (std::size_t at = 0; at < places(); ++at) {
            const Numbers record = read(at);
            EXPECT_EQ(record.all, numbers(record.all[0]).all);
            all.push_back(record.all[0]);
        }
        return all;
    }
};

using Contents = std::vector<std::uint64_t>;

struct Made {
    explicit Made(std::size_t records) : memory(NumberBoard::bytes_for(records)), board(memory) {}

    TableMemory memory;
    View board;
};

TEST(Board, ReadsWhatWasWritten) {
    Made made(3);
    EXPECT_EQ(made.board.places(), 3U);
    EXPECT_EQ(made.board.contents(), (Contents{0, 0, 0}));
    made.board.write(2, 7);
    made.board.write(0, 5);
    View other(made.memory, all_are_alive, 2);
    EXPECT_EQ(other.contents(), (Contents{5, 0, 7}));
    EXPECT_EQ(other.read<std::uint64_t>(2), 7U) << "the beginning of one";
    for (std::uint64_t number = 10; number < 200; ++number) {
        NumberBoard::Writing writing(other);
        writing.write(number % 3, numbers(number));
        writing.write((number + 1) % 3, numbers(number + 1000));
        ASSERT_EQ(made.board.read(number % 3).all[0], number);
        ASSERT_EQ(made.board.read((number + 1) % 3).all[0], number + 1000);
    }
    made.board.head() = 9;
    EXPECT_EQ(other.head(), 9U);
}

TEST(Board, FindsRecords) {
    Made made(4);
    made.board.write(1, 7);
    made.board.write(3, 7);
    made.board.write(2, 0);
    const auto find = [&](std::uint64_t number) {
        return made.board.find<std::uint64_t>([number](std::uint64_t first) { return first == number; });
    };
    EXPECT_EQ(find(7), 1U);
    EXPECT_EQ(find(0), 0U) << "none was ever written there";
    EXPECT_EQ(find(8), NumberBoard::none);
    std::vector<std::pair<std::size_t, std::uint64_t>> all;
    made.board.for_each([&](std::size_t at, const Numbers& record) { all.emplace_back(at, record.all[0]); });
    EXPECT_EQ(all, (std::vector<std::pair<std::size_t, std::uint64_t>>{{1, 7}, {2, 0}, {3, 7}}));
}

TEST(Board, ChangesARecordOnlyWhereThatIsWanted) {
    Made made(1);
    const std::uint64_t generation = made.board.generation();
    EXPECT_FALSE(made.board.change(0, [](Numbers& record) {
        record = numbers(3);
        return false;
    }));
    EXPECT_EQ(made.board.contents(), Contents{0});
    EXPECT_EQ(made.board.generation(), generation);
    int calls = 0;
    EXPECT_FALSE(made.board.change(0, [&](Numbers& /*record*/) { return ++calls == 1; }))
        << "another process was faster";
    EXPECT_EQ(made.board.generation(), generation);
    EXPECT_TRUE(made.board.change(0, [](Numbers& record) {
        record = numbers(record.all[0] + 3);
        return true;
    }));
    EXPECT_EQ(made.board.contents(), Contents{3});
    EXPECT_NE(made.board.generation(), generation);
}

TEST(Board, KeepsNothingOfWhatWasReplaced) {
    Made made(2);
    constexpr std::uint64_t secret = 0x0123456789abcdef;
    made.board.write(0, secret);
    made.board.write(0, 1);
    const auto* begin = static_cast<const std::uint64_t*>(made.memory.at());
    EXPECT_EQ(std::count(begin, begin + made.memory.size() / sizeof secret, secret), 0);
}

TEST(Board, FitsItsMemory) {
    const TableMemory memory(NumberBoard::bytes_for(3));
    const LockUser user{{1, 1}, all_are_alive};
    NumberBoard board;
    EXPECT_FALSE(board.use(nullptr, memory.size(), 3, user));
    EXPECT_FALSE(board.use(static_cast<char*>(memory.at()) + 8, memory.size() - 8, 3, user)) << "not aligned";
    EXPECT_FALSE(board.use(memory.at(), NumberBoard::bytes_for(0) - 1, 3, user));
    EXPECT_TRUE(board.use(memory.at(), NumberBoard::bytes_for(0), 3, user));
    EXPECT_EQ(board.places(), 0U);
    EXPECT_TRUE(board.use(memory.at(), memory.size() - 1, 3, user));
    EXPECT_EQ(board.places(), 2U);
    EXPECT_TRUE(board.use(memory.at(), memory.size(), 3, user));
    EXPECT_EQ(board.places(), 3U);
    EXPECT_TRUE(board.use(memory.at(), memory.size(), 1, user));
    EXPECT_EQ(board.places(), 1U) << "no more are wanted";
}

/// Each of four processes raises all records, and looks whether they are whole.
TEST(Board, ManyMayWriteAndReadAtATime) {
    Made made(3);
    constexpr std::uint64_t rounds = 5'000;
    in_threads(4, [&made](std::size_t thread) {
        View view(made.memory, all_are_alive, static_cast<std::uint32_t>(10 + thread));
        for (std::uint64_t i = 0; i < rounds; ++i) {
            view.change(i % 3, [](Numbers& record) {
                record = numbers(record.all[0] + 1);
                return true;
            });
            view.contents();
        }
    });
    const Contents all = made.board.contents();
    EXPECT_EQ(all[0] + all[1] + all[2], 4 * rounds) << "none is lost";
}

// On other processors an atomic exchange is two instructions, and a stop between them may undo the first one.
#if defined(__x86_64__)

/// The records that a process reads that finds all others dead; then it writes all that it has read, each
/// plus 100, which shows whether two records have one cell.
Contents seen_by_heir(const TableMemory& state, std::uint64_t known, const Contents& known_contents) {
    TableMemory copy(state.size());
    std::memcpy(copy.at(), state.at(), state.size());
    View heir(copy, nobody_is_alive, 9);
    Contents all = heir.contents();
    { const NumberBoard::Writing writing(heir); }
    EXPECT_TRUE(heir.generation() != known || all == known_contents) << "nobody is told of the change";
    for (std::size_t at = 0; at < all.size(); ++at) {
        heir.write(at, all[at] + 100);
    }
    for (std::size_t at = 0; at < all.size(); ++at) {
        EXPECT_EQ(heir.contents()[at], all[at] + 100);
    }
    return all;
}

/// Writes the two records 1 and 2, as one that finds others dead.
void write_two(const TableMemory& memory, std::uint64_t number) {
    View view(memory, nobody_is_alive_but_wait, static_cast<std::uint32_t>(number));
    NumberBoard::Writing writing(view);
    writing.write(1, numbers(number));
    writing.write(2, numbers(number + 1));
}

TEST(BoardStep, EachInstructionLeavesTheOldOrTheNew) {
    if (!may_trace()) {
        GTEST_SKIP() << "no process may be traced here";
    }
    Made made(3);
    for (std::size_t at = 0; at < 3; ++at) {
        made.board.write(at, at + 1);
    }
    const std::uint64_t known = made.board.generation();
    const std::vector<Contents> allowed{{1, 2, 3}, {1, 20, 3}, {1, 20, 21}};
    std::array<std::size_t, 3> states{};
    std::vector<TableMemory> deaths;
    each_state(
        made.memory, [&] { write_two(made.memory, 20); }, nobody_is_waited_for,
        [&](const TableMemory& state) {
            const Contents here = seen_by_heir(state, known, allowed[0]);
            const auto found = std::find(allowed.begin(), allowed.end(), here);
            ASSERT_NE(found, allowed.end()) << "half a change";
            ++states.at(static_cast<std::size_t>(found - allowed.begin()));
            deaths.push_back(state);
        });
    EXPECT_GE(states[0], 2U);
    EXPECT_GE(states[1], 2U);
    EXPECT_GE(states[2], 2U);

    std::size_t seconds = 0;
    for (const TableMemory& death : deaths) {
        std::memcpy(made.memory.at(), death.at(), death.size());
        const Contents before = made.board.contents();
        each_state(
            made.memory, [&] { write_two(made.memory, 30); }, others_are_waited_for,
            [&](const TableMemory& state) {
                const Contents here = seen_by_heir(state, known, allowed[0]);
                EXPECT_TRUE(here == before || here == (Contents{1, 30, before[2]}) ||
                            here == (Contents{1, 30, 31}));
                seconds += here[2] == 31 ? 1 : 0;
            });
    }
    EXPECT_GE(seconds, deaths.size());
}

/// Whatever it has read so far, a reader gives a record as it was before a change or as it is after.
TEST(BoardStep, AReaderIsOvertakenAtEachInstruction) {
    if (!may_trace()) {
        GTEST_SKIP() << "no process may be traced here";
    }
    Made made(2);
    const TableMemory memory_of_answer(sizeof(Numbers));
    auto& answer = *static_cast<Numbers*>(memory_of_answer.at());
    std::uint64_t written = 1;
    made.board.write(1, written);
    std::size_t before = 0;
    std::size_t after = 0;
    stopped_at_each([&] { answer = made.board.read(1); },
                    [&] {
                        made.board.write(0, written + 1000);
                        made.board.write(1, ++written);
                    },
                    [&] {
                        EXPECT_EQ(answer.all, numbers(answer.all[0]).all) << "halves of two";
                        before += answer.all[0] == written - 1 ? 1 : 0;
                        after += answer.all[0] == written ? 1 : 0;
                        EXPECT_TRUE(answer.all[0] == written - 1 || answer.all[0] == written);
                    });
    EXPECT_GE(before, 2U);
    EXPECT_GE(after, 20U);
}

#endif

TEST(KeptText, KeepsTheFront) {
    KeptText<4> text;
    EXPECT_TRUE(text.empty());
    EXPECT_EQ(text, "");
    text = "long text";
    EXPECT_EQ(text, "long");
    EXPECT_TRUE(text.is_cut());
    text = "four";
    EXPECT_EQ(text, "four");
    EXPECT_FALSE(text.is_cut());
    KeptText<4> same;
    same = "x";
    text = "x";
    EXPECT_EQ(std::memcmp(&text, &same, sizeof text), 0) << "nothing stays behind it";
}

}  // namespace
}  // namespace rate_limit::board_test
