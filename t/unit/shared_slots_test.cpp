// Workers that count on one key's record, and what becomes of the requests of those that die.

#include "core/slots/shared_slots.h"

#include <algorithm>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "own_places.h"
#include "table_memory.h"

namespace rate_limit::shared_slots_test {
namespace {

std::set<std::uint32_t> dead;

bool lives(const Process& process) {
    return dead.count(process.pid) == 0;
}

/// One worker: its view of the table, and its place.
struct Worker {
    Worker(const TableMemory& memory, WorkerPlaces& all, std::uint32_t number)
        : pid(number),
          table(view_of(memory, number, lives)),
          place(all.take({{number, 1}, lives}).value()),
          slots(table, all, place) {}
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;
    ~Worker() = default;

    const std::uint32_t pid;
    WindowTable table;
    const std::size_t place;
    SharedSlots slots;
};

class SharedSlotsTest : public testing::Test {
protected:
    explicit SharedSlotsTest(std::size_t records = 2000) : own(records) { dead.clear(); }

    Worker& add() {
        workers.push_back(std::make_unique<Worker>(own.memory, *places, ++pids));
        return *workers.back();
    }
    /// Kills a worker; others find that out.
    void kill(std::size_t worker) {
        dead.insert(workers.at(worker)->pid);
        workers.erase(workers.begin() + static_cast<std::ptrdiff_t>(worker));
        EXPECT_TRUE(places->find_dead(lives));
    }
    SlotsTerms terms() const { return {limit, Truth::local, 30'000, 100, table_now}; }
    std::int64_t runs(const WindowId& id = key) {
        return running(own.table.find<SlotsRecord>(id).value_or(SlotsRecord{}));
    }
    void sweep() {
        for (std::size_t set = 0; set < own.table.sets(); ++set) {
            EXPECT_TRUE(workers.at(0)->slots.sweep(set, terms()));
        }
    }

    /// Records that are kept for longer than a moment.
    std::size_t kept() {
        std::size_t count = 0;
        own.table.for_each(
            [&](const Record& record) { count += record.reset > table_now + idle_time ? 1 : 0; });
        return count;
    }

    static constexpr WindowId key{0x123456789abcdef0, 0xfedcba9876543210};
    TestTable own;
    const std::unique_ptr<OwnPlaces> places = std::make_unique<OwnPlaces>();
    std::vector<std::unique_ptr<Worker>> workers;
    std::uint32_t pids = 10;
    std::int64_t limit = 20;
};
constexpr WindowId SharedSlotsTest::key;

class SharedSlotsWithoutRoom : public SharedSlotsTest {
protected:
    SharedSlotsWithoutRoom() : SharedSlotsTest(1) {}
};

TEST_F(SharedSlotsTest, WorkersShareALimit) {
    Worker& one = add();
    Worker& two = add();
    for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(one.slots.enter(key, terms()).outcome, SlotsOutcome::admitted);
        EXPECT_EQ(two.slots.enter(key, terms()).outcome, SlotsOutcome::admitted);
    }
    EXPECT_EQ(one.slots.enter(key, terms()).outcome, SlotsOutcome::rejected);
    two.slots.leave(key, terms());
    EXPECT_EQ(one.slots.enter(key, terms()).outcome, SlotsOutcome::admitted);
    EXPECT_TRUE(two.slots.enter_anyway(key, terms()));
    EXPECT_EQ(runs(), 21);
    for (int i = 0; i < 11; ++i) {
        one.slots.leave(key, terms());
    }
    for (int i = 0; i < 10; ++i) {
        two.slots.leave(key, terms());
    }
    EXPECT_EQ(kept(), 0U) << "nothing is left";
}

TEST_F(SharedSlotsTest, TheRequestsOfAKilledWorkerEndExactly) {
    Worker& one = add();
    Worker& two = add();
    for (int i = 0; i < 10; ++i) {
        one.slots.enter(key, terms());
        two.slots.enter(key, terms());
    }
    kill(0);
    EXPECT_EQ(two.slots.enter(key, terms()).outcome, SlotsOutcome::admitted);
    EXPECT_EQ(runs(), 11);
    Worker& three = add();
    EXPECT_EQ(three.place, 0U) << "the place of the dead one";
    for (int i = 0; i < 9; ++i) {
        EXPECT_EQ(three.slots.enter(key, terms()).outcome, SlotsOutcome::admitted);
    }
    EXPECT_EQ(three.slots.enter(key, terms()).outcome, SlotsOutcome::rejected);
    kill(0);
    three.slots.leave(key, terms());
    EXPECT_EQ(three.slots.recall(key).running, 8U);
}

TEST_F(SharedSlotsTest, AWorkerThatIsKilledInTheMiddleOfAChange) {
    for (const bool key_first : {true, false}) {
        Worker& one = add();
        Worker& two = add();
        two.slots.enter(key, terms());
        one.slots.enter(key, terms());
        // The one has changed the first of the two records, or is about to.
        places->set_changing(one.place, key.low | 1);
        if (key_first) {
            EXPECT_TRUE(one.table.change(key, [&](SlotsRecord& record) { enter(record, terms()); }));
            EXPECT_EQ(runs(), 3);
        }
        kill(0);
        EXPECT_EQ(two.slots.enter(key, terms()).outcome, SlotsOutcome::admitted);
        EXPECT_EQ(runs(), 2);
        two.slots.leave(key, terms());
        two.slots.leave(key, terms());
        kill(0);
        EXPECT_EQ(kept(), 0U);
    }
}

TEST_F(SharedSlotsTest, AddsUpOnlyWhenNobodyIsInTheMiddleOfAChange) {
    Worker& one = add();
    Worker& two = add();
    Worker& three = add();
    for (Worker* const worker : {&one, &two, &three}) {
        worker->slots.enter(key, terms());
    }
    kill(0);
    places->set_changing(three.place, key.low | 1);
    EXPECT_TRUE(three.table.change(key, [&](SlotsRecord& record) { enter(record, terms()); }));
    EXPECT_EQ(two.slots.enter(key, terms()).outcome, SlotsOutcome::admitted);
    EXPECT_EQ(runs(), 5) << "the dead one still counts";
    three.table.change(share_id_of(key, three.place), [](ShareRecord& share) { ++share.running; });
    places->set_changing(three.place, 0);
    sweep();
    EXPECT_EQ(runs(), 4);
}

TEST_F(SharedSlotsTest, KeysThatNobodyAsksForAreSwept) {
    Worker& one = add();
    Worker& two = add();
    Ids ids(1);
    std::vector<WindowId> keys;
    for (int i = 0; i < 200; ++i) {
        keys.push_back(ids.next());
        one.slots.enter(keys.back(), terms());
        one.slots.enter(keys.back(), terms());
        if (i % 2 == 0) {
            two.slots.enter(keys.back(), terms());
        }
    }
    kill(0);
    sweep();
    for (std::size_t i = 0; i < keys.size(); ++i) {
        EXPECT_EQ(runs(keys[i]), i % 2 == 0 ? 1 : 0);
    }
    EXPECT_EQ(kept(), 200U) << "two records for each that runs";
}

TEST_F(SharedSlotsWithoutRoom, AFullTableCountsNothing) {
    Worker& one = add();
    Ids ids(1);
    int admitted = 0;
    for (; admitted < 1000; ++admitted) {
        if (one.slots.enter(ids.next(), terms()).outcome == SlotsOutcome::no_room) {
            break;
        }
    }
    EXPECT_LT(admitted, 1000);
    EXPECT_FALSE(one.slots.enter_anyway(ids.next(), terms()));
    int runs_now = 0;
    own.table.for_each(
        [&](const Record& record) { runs_now += static_cast<int>(record.as<SlotsRecord>().running); });
    EXPECT_EQ(runs_now, admitted) << "who was not counted by its worker is not counted at all";
}

TEST_F(SharedSlotsTest, NoSlotLeaksInAHundredThousandRequests) {
    std::mt19937 random(7);
    Ids ids(3);
    const std::vector<WindowId> keys{ids.next(), ids.next(), ids.next()};
    std::vector<std::pair<std::uint32_t, std::size_t>> requests;  // the worker's number and the key
    for (int i = 0; i < 4; ++i) {
        add();
    }
    const auto worker_of = [this](std::uint32_t pid) {
        for (const auto& worker : workers) {
            if (worker->pid == pid) {
                return worker.get();
            }
        }
        return static_cast<Worker*>(nullptr);
    };
    for (int pairs = 0; pairs < 100'000;) {
        const std::size_t chosen = random() % keys.size();
        if (random() % 2 == 0) {
            Worker& worker = *workers[random() % workers.size()];
            if (worker.slots.enter(keys[chosen], terms()).outcome == SlotsOutcome::admitted) {
                requests.emplace_back(worker.pid, chosen);
            }
        } else if (!requests.empty()) {
            std::swap(requests[random() % requests.size()], requests.back());
            worker_of(requests.back().first)->slots.leave(keys[requests.back().second], terms());
            requests.pop_back();
            ++pairs;
        }
        if (random() % 5000 == 0) {
            const std::uint32_t victim = workers[random() % workers.size()]->pid;
            for (std::size_t w = 0; w < workers.size(); ++w) {
                if (workers[w]->pid == victim) {
                    kill(w);
                    break;
                }
            }
            for (std::size_t r = requests.size(); r-- > 0;) {
                if (requests[r].first == victim) {
                    requests.erase(requests.begin() + static_cast<std::ptrdiff_t>(r));
                }
            }
            add();
            sweep();
        }
        if (pairs % 100 == 0) {
            std::vector<std::int64_t> counts(keys.size());
            for (const auto& request : requests) {
                ++counts[request.second];
            }
            for (std::size_t k = 0; k < keys.size(); ++k) {
                ASSERT_EQ(runs(keys[k]), counts[k]);
                ASSERT_LE(counts[k], limit);
            }
        }
    }
    for (const auto& request : requests) {
        worker_of(request.first)->slots.leave(keys[request.second], terms());
    }
    EXPECT_EQ(kept(), 0U);
}

TEST_F(SharedSlotsTest, TheHeirOfAPlaceCountsFromNothing) {
    Worker& two = add();
    Worker& one = add();
    one.slots.enter(key, terms());
    one.slots.enter(key, terms());
    two.slots.enter(key, terms());
    kill(1);
    places->set_changing(two.place, key.low | 1);
    Worker& heir = add();
    EXPECT_EQ(heir.slots.enter(key, terms()).outcome, SlotsOutcome::admitted);
    EXPECT_EQ(runs(), 4) << "it cannot be added up yet";
    places->set_changing(two.place, 0);
    sweep();
    EXPECT_EQ(runs(), 2);
}

TEST_F(SharedSlotsTest, ANewRecordKnowsOfTheDeathsBefore) {
    Worker& one = add();
    add();
    kill(1);
    one.slots.enter(key, terms());
    EXPECT_EQ(one.slots.recall(key).deaths, places->deaths()) << "nothing has to be added up";
}

/// Places are given up beside the threads, so that these add up in the middle of changes. The next death
/// would hide what is wrong, so a round has only one or two.
TEST_F(SharedSlotsTest, WorkersThatRunAtTheSameTimeWhileOthersDie) {
    constexpr std::size_t threads = 3;
    limit = 1'000'000;
    std::vector<std::int64_t> counts(threads);
    for (std::size_t t = 0; t < threads; ++t) {
        add();
    }
    for (int round = 0; round < 1500; ++round) {
        std::vector<std::thread> at_work;
        for (std::size_t t = 0; t < threads; ++t) {
            at_work.emplace_back([&, t, round] {
                std::mt19937 random(static_cast<unsigned>(round) * 7 + static_cast<unsigned>(t));
                SharedSlots& slots = workers[t]->slots;
                for (int i = 0; i < 1000; ++i) {
                    if (t == 0 && i == 500) {
                        places->leave(places->take({{5000, 1}, lives}).value());
                    }
                    if (random() % 2 == 0 || counts[t] == 0) {
                        counts[t] += slots.enter(key, terms()).outcome == SlotsOutcome::admitted ? 1 : 0;
                    } else {
                        slots.leave(key, terms());
                        --counts[t];
                    }
                }
            });
        }
        for (std::thread& thread : at_work) {
            thread.join();
        }
        ASSERT_EQ(runs(), counts[0] + counts[1] + counts[2]) << "round " << round;
    }
}

}  // namespace
}  // namespace rate_limit::shared_slots_test
