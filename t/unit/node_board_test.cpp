#include "core/counts/node_board.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "table_memory.h"
#include "threads.h"

namespace rate_limit::node_board_test {
namespace {

using Identity = NodeBoard::Identity;
using Told = NodeBoard::Told;

constexpr std::size_t all_workers = NodeBoard::most_workers;
constexpr Millis hour = 3'600'000;
constexpr Millis minute = 60'000;

/// The node of this number in shard 7 of a store.
Identity node(std::uint64_t number, std::uint64_t store = 1) {
    return {store, store * 1000 + 7, (store * 100'000 + number + 1) * 4};
}

std::string address_of(std::uint64_t number) {
    return "10.0.0." + std::to_string(number) + ":6379";
}

struct Board {
    explicit Board(std::size_t records) : memory(NodeBoard::bytes_for(records)) {
        EXPECT_TRUE(board.use(memory.at(), memory.size(), this_process()));
        EXPECT_EQ(board.places(), std::min(records, NodeBoard::most_nodes));
    }

    NodeBoard::Noted note(std::uint64_t number, Millis now, std::uint64_t store = 1,
                          std::size_t most = NodeBoard::most_of_store) {
        return board.note(node(number, store), address_of(number), now, most);
    }

    Told read(std::uint64_t number, Millis now = table_now, std::size_t workers = all_workers) const {
        Told told;
        const std::size_t place = board.find(node(number));
        EXPECT_TRUE(board.read(place, node(number), workers, now, told)) << number;
        return told;
    }

    void set_up(std::uint64_t number, std::size_t worker, bool up, Millis now) {
        board.set_up(board.find(node(number)), node(number), worker, up, now);
    }

    /// The addresses of store 1, in alphabetical order, and how many of them are gone.
    std::vector<std::string> addresses(Millis now, std::size_t& gone) const {
        std::vector<std::string> all;
        gone = 0;
        board.for_each_of(node(0), all_workers, now, [&](const Told& told) {
            all.push_back(told.address);
            gone += told.gone ? 1 : 0;
        });
        std::sort(all.begin(), all.end());
        return all;
    }

    TableMemory memory;
    NodeBoard board;
};

TEST(NodeBoard, TellsWhatWasNoted) {
    Board board(8);
    EXPECT_EQ(board.board.find(node(1)), NodeBoard::none);
    const NodeBoard::Noted first = board.note(1, table_now);
    EXPECT_TRUE(first.is_new);
    const NodeBoard::Noted again = board.note(1, table_now + 5);
    EXPECT_FALSE(again.is_new);
    EXPECT_EQ(again.place, first.place);
    board.note(2, table_now);
    board.note(3, table_now, 2);  // another store

    Told told = board.read(1);
    EXPECT_EQ(told.address, "10.0.0.1:6379");
    EXPECT_FALSE(told.primary);
    EXPECT_TRUE(told.up);
    EXPECT_EQ(told.since, table_now);
    EXPECT_FALSE(told.gone);
    board.board.set_primary(first.place, node(1), true);
    EXPECT_TRUE(board.read(1).primary);
    EXPECT_FALSE(board.read(2).primary);
    board.board.set_primary(first.place, node(1), false);
    EXPECT_FALSE(board.read(1).primary);

    std::size_t gone = 0;
    EXPECT_EQ(board.addresses(table_now, gone), (std::vector<std::string>{"10.0.0.1:6379", "10.0.0.2:6379"}));
}

TEST(NodeBoard, ANodeIsDownWhileOneWorkerHoldsItForDown) {
    Board board(4);
    board.note(1, table_now);
    board.set_up(1, 0, false, table_now + 10);
    board.set_up(1, 70, false, table_now + 20);
    board.set_up(1, 70, false, table_now + 30);
    EXPECT_FALSE(board.read(1).up);
    EXPECT_EQ(board.read(1).since, table_now + 10) << "since the first said so";
    board.set_up(1, 0, true, table_now + 40);
    EXPECT_FALSE(board.read(1).up) << "another one still does";
    EXPECT_EQ(board.read(1).since, table_now + 10);
    EXPECT_TRUE(board.read(1, table_now, 70).up) << "one that the configuration does not have";
    EXPECT_FALSE(board.read(1, table_now, 71).up);
    board.set_up(1, 70, true, table_now + 50);
    board.set_up(1, 70, true, table_now + 60);
    EXPECT_TRUE(board.read(1).up);
    EXPECT_EQ(board.read(1).since, table_now + 50);
    board.set_up(1, 255, false, table_now + 70);
    EXPECT_TRUE(board.read(1, table_now, 255).up);
    EXPECT_FALSE(board.read(1).up);
    EXPECT_FALSE(board.read(1, table_now, 1000).up);
}

TEST(NodeBoard, TellsHowLongANodeThatIsUpTakesToAnswer) {
    Board board(4);
    board.note(1, table_now);
    EXPECT_EQ(board.read(1).answer_time, std::nullopt);
    const std::size_t place = board.board.find(node(1));
    board.board.set_answer_time(place, node(1), 300);
    EXPECT_EQ(board.read(1).answer_time, 300U);
    board.board.set_answer_time(place, node(1), 0);
    EXPECT_EQ(board.read(1).answer_time, 0U);
    board.board.set_answer_time(place, node(2), 400);
    EXPECT_EQ(board.read(1).answer_time, 0U) << "it is not that node's";
    board.set_up(1, 3, false, table_now);
    EXPECT_EQ(board.read(1).answer_time, std::nullopt);
    board.set_up(1, 3, true, table_now);
    EXPECT_EQ(board.read(1).answer_time, 0U);
}

TEST(NodeBoard, AWorkerThatBeginsTakesBackWhatOneBeforeItSaid) {
    Board board(4);
    for (const std::uint64_t number : {1U, 2U, 3U}) {
        board.note(number, table_now);
        board.set_up(number, 1, false, table_now);
    }
    board.set_up(2, 0, false, table_now);
    board.board.begin_worker(1, table_now + 9);
    EXPECT_TRUE(board.read(1).up);
    EXPECT_EQ(board.read(1).since, table_now + 9);
    EXPECT_FALSE(board.read(2).up) << "another worker's word stays";
    EXPECT_TRUE(board.read(3).up);
    EXPECT_EQ(board.read(2).since, table_now);
}

TEST(NodeBoard, AConfigurationDoesNotHearTheWorkersOfTheOneBefore) {
    Board board(4);
    board.board.begin_configuration(table_now);
    NodeBoard before = board.board;  // the view of its workers
    board.note(1, table_now);
    board.note(2, table_now);
    board.set_up(1, 0, false, table_now);
    board.board.begin_configuration(table_now + 3);
    EXPECT_TRUE(board.read(1).up);
    EXPECT_EQ(board.read(1).since, table_now + 3);
    EXPECT_EQ(board.read(2).since, table_now);
    before.set_up(before.find(node(1)), node(1), 1, false, table_now);
    board.set_up(2, 1, false, table_now + 5);
    EXPECT_TRUE(board.read(1).up) << "a worker that leaves may still say something";
    EXPECT_FALSE(board.read(2).up);
    Told told;
    ASSERT_TRUE(before.read(before.find(node(1)), node(1), all_workers, table_now, told));
    EXPECT_FALSE(told.up) << "as it sees it";
    board.board.begin_configuration(table_now);
    EXPECT_TRUE(board.read(1).up) << "forgotten when the next one takes its bits";
    EXPECT_TRUE(board.read(2).up);
}

TEST(NodeBoard, ANodeThatNobodyHasIsGoneAfterAnHour) {
    Board board(4);
    board.note(1, table_now);
    const std::size_t place = board.note(2, table_now).place;
    board.board.see(place, node(2), table_now + hour - 1);
    EXPECT_FALSE(board.read(1, table_now + hour - 1).gone);
    EXPECT_TRUE(board.read(1, table_now + hour).gone);
    EXPECT_FALSE(board.read(2, table_now + 2 * hour - 2).gone);
    EXPECT_FALSE(board.read(2, table_now - hour).gone) << "the clock was set back";
    std::size_t gone = 0;
    EXPECT_EQ(board.addresses(table_now + hour, gone).size(), 2U);
    EXPECT_EQ(gone, 1U);
    const NodeBoard::Noted back = board.note(1, table_now + hour);
    EXPECT_TRUE(back.is_new) << "its counters may have been given away";
    EXPECT_FALSE(board.read(1, table_now + hour).gone);
}

TEST(NodeBoard, AfterTheClockWasSetBackItIsSeenAgain) {
    Board board(2);
    const std::size_t place = board.note(1, table_now).place;
    board.board.see(place, node(1), table_now - hour);
    EXPECT_TRUE(board.read(1, table_now).gone);
}

TEST(NodeBoard, GivesThePlaceOfAGoneNodeFirst) {
    Board board(4);
    const NodeBoard::Names names{1, 2, 3};
    const std::size_t first = board.note(1, table_now).place;
    board.board.set_names(first, node(1), names);
    board.note(2, table_now + hour - 1);
    const NodeBoard::Noted third = board.note(3, table_now + hour);
    EXPECT_EQ(third.place, first) << "although places are free";
    EXPECT_EQ(third.replaced, names);
    EXPECT_FALSE(board.board.has_names(third.place, node(3)));
    EXPECT_FALSE(board.board.has(first, node(1)));
    EXPECT_EQ(board.board.find(node(1)), NodeBoard::none);
    EXPECT_EQ(board.read(3, table_now + hour).address, "10.0.0.3:6379");

    // Words of its former user about the node change nothing.
    board.board.set_up(first, node(1), 3, false, table_now + hour);
    board.board.set_primary(first, node(1), true);
    board.board.see(first, node(1), table_now + 9 * hour);
    board.board.set_names(first, node(1), names);
    const Told told = board.read(3, table_now + hour);
    EXPECT_TRUE(told.up && !told.primary);
    EXPECT_FALSE(board.board.has_names(first, node(3)));
    EXPECT_TRUE(board.read(3, table_now + 2 * hour).gone);
}

TEST(NodeBoard, AFullBoardGivesAwayWhatHasBeenGoneForLongest) {
    Board board(3);
    board.note(1, table_now);
    board.note(2, table_now + 1000);
    board.note(3, table_now + 2000);
    EXPECT_EQ(board.note(4, table_now + minute - 1).place, NodeBoard::none) << "all may still be in use";
    EXPECT_NE(board.note(4, table_now + minute).place, NodeBoard::none);
    EXPECT_EQ(board.board.find(node(1)), NodeBoard::none);
    EXPECT_NE(board.board.find(node(2)), NodeBoard::none);
}

TEST(NodeBoard, AStoreHasSoManyNodesAtMost) {
    Board board(300);
    constexpr std::size_t most = NodeBoard::most_of_store;
    for (std::uint64_t i = 0; i < most; ++i) {
        ASSERT_NE(board.note(i, table_now + static_cast<Millis>(i)).place, NodeBoard::none);
    }
    EXPECT_EQ(board.note(most, table_now + 1000).place, NodeBoard::none);
    board.note(0, table_now + 1000);
    EXPECT_NE(board.note(0, table_now + 1000, 2).place, NodeBoard::none) << "of another store";
    EXPECT_NE(board.note(500, table_now + 1000, 1, NodeBoard::most_nodes).place, NodeBoard::none)
        << "one of the configuration";
    EXPECT_NE(board.note(most, table_now + minute + 500).place, NodeBoard::none);
    EXPECT_EQ(board.board.find(node(1)), NodeBoard::none) << "it was gone for longest";
    EXPECT_NE(board.board.find(node(0)), NodeBoard::none) << "it was seen since";
}

TEST(NodeBoard, AStoreThatIsFullTakesNoNodeBack) {
    Board board(300);
    constexpr std::size_t most = NodeBoard::most_of_store;
    board.note(1000, table_now);
    for (std::uint64_t i = 0; i < most - 1; ++i) {
        board.note(i, table_now + 10);
    }
    board.note(1001, table_now + 10, 1, NodeBoard::most_nodes);
    EXPECT_EQ(board.note(1000, table_now + hour + 5).place, NodeBoard::none);
}

TEST(NodeBoard, TellsNoAddressThatIsTooLong) {
    Board board(2);
    const std::string longest(NodeBoard::most_address, 'x');
    ASSERT_NE(board.board.note(node(1), longest, table_now).place, NodeBoard::none);
    EXPECT_EQ(board.read(1).address, longest);
    EXPECT_EQ(board.board.note(node(2), longest + "x", table_now).place, NodeBoard::none);
}

TEST(NodeBoard, TellsNamesOfNodesThatAreNotGone) {
    Board board(4);
    board.board.set_names(board.note(1, table_now).place, node(1), {10, 11, 0});
    board.board.set_names(board.note(2, table_now + 5).place, node(2), {20, 21, 0});
    board.note(3, table_now + 5);
    const auto names = [&board](Millis now) {
        std::set<std::uint64_t> all;
        board.board.for_each_name(now, [&all](std::uint64_t name) { all.insert(name); });
        return all;
    };
    EXPECT_EQ(names(table_now + 5), (std::set<std::uint64_t>{10, 11, 20, 21}));
    EXPECT_EQ(names(table_now + hour), (std::set<std::uint64_t>{20, 21}));
    EXPECT_EQ(board.board.named(), 2U);
    board.board.set_names(board.board.find(node(2)), node(2), {});
    EXPECT_EQ(board.board.named(), 1U);
}

TEST(NodeBoard, FitsItsMemory) {
    NodeBoard board;
    EXPECT_FALSE(board.use(nullptr, 1000, this_process()));
    for (std::size_t size = 0; size < 1500; ++size) {
        TableMemory memory(std::max<std::size_t>(size, 1));
        ASSERT_EQ(board.use(memory.at(), size, this_process()), size >= NodeBoard::bytes_for(1)) << size;
        if (size >= NodeBoard::bytes_for(1)) {
            EXPECT_LE(NodeBoard::bytes_for(board.places()), size);
            EXPECT_GT(NodeBoard::bytes_for(board.places() + 1), size);
        }
    }
    Board largest(5000);
    for (std::uint64_t i = 0; i < 2000; ++i) {
        EXPECT_EQ(largest.note(i, table_now, i).place == NodeBoard::none, i >= NodeBoard::most_nodes) << i;
    }
}

TEST(NodeBoard, ManyMayNoteAtATime) {
    Board board(64);
    constexpr std::uint64_t nodes = 60;
    in_threads(4, [&board](std::size_t thread) {
        NodeBoard view;
        ASSERT_TRUE(view.use(board.memory.at(), board.memory.size(),
                             LockUser{{static_cast<std::uint32_t>(10 + thread), 1}, all_are_alive}));
        for (std::uint64_t i = 0; i < nodes; ++i) {
            const std::uint64_t number = (i * 7 + thread * 13) % nodes;
            const std::size_t place = view.note(node(number), address_of(number), table_now).place;
            EXPECT_TRUE(view.has(place, node(number)));
            view.set_up(place, node(number), thread, false, table_now);
        }
    });
    std::size_t gone = 0;
    EXPECT_EQ(board.addresses(table_now, gone).size(), nodes) << "each once";
    for (std::size_t worker = 0; worker < 4; ++worker) {
        EXPECT_FALSE(board.read(5).up);
        board.set_up(5, worker, true, table_now);
    }
    EXPECT_TRUE(board.read(5).up);
}

}  // namespace
}  // namespace rate_limit::node_board_test
