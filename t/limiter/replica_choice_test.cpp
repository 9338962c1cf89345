// Which node is asked what a window holds.

#include <string>
#include <vector>

#include "t/limiter/checked.h"

namespace rate_limit::world::replica_choice_test {
namespace {

/// One primary and three replicas. The first one takes 500 ms for its answers while `slow`.
class ReplicaChoice : public testing::Test {
protected:
    ReplicaChoice() {
        StoreSetup& store = world.setup.stores.front();
        store.fresh = 0;
        store.shards.front().replicas = {"10.0.1.1:6379", "10.0.1.2:6379", "10.0.1.3:6379"};
    }

    ScriptedReply answer(const Command& words, bool late) {
        if (words[0] != "hmget") {
            return is_write(words) ? ScriptedReply(integers({1, reset})) : fallback(words);
        }
        return late ? later(500'000, hmget(1, reset)) : ScriptedReply(hmget(1, reset));
    }

    std::vector<std::size_t> reads() const {
        return {one.commands("hmget").size(), two.commands("hmget").size(), three.commands("hmget").size()};
    }

    void forget() {
        for (Scripted* replica : {&one, &two, &three}) {
            replica->forget();
        }
    }

    Scenario world{{"default", "100000r/h"}, 9'000};
    const Millis reset = world.at(1'800'000);
    bool slow = false;
    Scripted primary{world.events, world.network, Scenario::primary_address,
                     [this](const Command& words, ScriptedClient&) { return answer(words, false); }};
    Scripted one{world.events, world.network, "10.0.1.1:6379",
                 [this](const Command& words, ScriptedClient&) { return answer(words, slow); }};
    Scripted two{world.events, world.network, "10.0.1.2:6379",
                 [this](const Command& words, ScriptedClient&) { return answer(words, false); }};
    Scripted three{world.events, world.network, "10.0.1.3:6379",
                   [this](const Command& words, ScriptedClient&) { return answer(words, false); }};
};

TEST_F(ReplicaChoice, TakesTurns) {
    world.worker();
    world.pass(200);  // all are connected then
    EXPECT_EQ(world.admitted(90, "k"), 90U);
    world.pass(100);
    EXPECT_EQ(reads(), (std::vector<std::size_t>{30, 30, 30}));
    EXPECT_EQ(primary.commands("hmget").size(), 0U) << "the primary is not read";
    for (const Scripted* replica : {&one, &two, &three}) {
        EXPECT_EQ(replica->writes().size(), 0U) << "nothing is written to a replica";
    }
}

TEST_F(ReplicaChoice, IsOneForAllChecksOfOneTurn) {
    world.setup.limits.clear();
    for (int i = 0; i < 12; ++i) {
        world.setup.limits.push_back({"limit-" + std::to_string(i), "9r/h"});
    }
    EXPECT_EQ(world.admitted(3, "k"), 3U);  // all are connected then
    for (int round = 0; round < 6; ++round) {
        forget();
        EXPECT_EQ(world.ask("k"), "PASSED");
        std::vector<std::size_t> counts = reads();
        std::sort(counts.begin(), counts.end());
        EXPECT_EQ(counts, (std::vector<std::size_t>{0, 0, 12}));
    }
}

/// Six clients at a time, each of which asks again as soon as it is answered.
TEST_F(ReplicaChoice, GivesLessToOneThatIsSlow) {
    slow = true;
    world.worker();
    world.pass(200);  // all are connected then
    std::vector<const ClientRequest*> asking(6);
    std::size_t requests = 0;
    for (Msec passed = 0; passed < 2'000; ++passed) {
        for (const ClientRequest*& request : asking) {
            if (request == nullptr || request->is_decided()) {
                request = &world.begin("k");
                ++requests;
            }
        }
        world.pass(1);
    }
    const std::vector<std::size_t> counts = reads();
    EXPECT_EQ(counts[0] + counts[1] + counts[2], requests + counts[0]) << "one more for each that is hedged";
    EXPECT_GT(counts[0], 0U);
    EXPECT_LT(counts[0], (counts[1] + counts[2]) / 20);
    EXPECT_NEAR(static_cast<double>(counts[1]), static_cast<double>(counts[2]),
                static_cast<double>(counts[2]) / 10);
}

/// A replica that has become slow, and is not silent for long enough to count as down, gives a tenth of its
/// checks to the next node and no more: the load of that does not double.
TEST_F(ReplicaChoice, GivesATenthToThePrimaryWhereTheOnlyReplicaIsSlow) {
    constexpr std::size_t requests = 400;
    world.setup.stores.front().shards.front().replicas = {"10.0.1.1:6379"};
    world.setup.stores.front().check_timeout = 2'700;
    EXPECT_EQ(world.ask("k"), "PASSED");
    forget();
    slow = true;
    std::vector<const ClientRequest*> asking;
    for (std::size_t i = 0; i < requests; ++i) {
        asking.push_back(&world.begin("k"));
    }
    world.pass(1'000);
    EXPECT_EQ(std::count_if(asking.begin(), asking.end(),
                            [](const ClientRequest* request) { return outcome(*request) == "PASSED"; }),
              static_cast<std::ptrdiff_t>(requests));
    EXPECT_EQ(one.commands("hmget").size(), requests) << "each is a check of the replica";
    EXPECT_GE(primary.commands("hmget").size(), 20U) << "some go to the primary, too";
    EXPECT_LE(primary.commands("hmget").size(), requests / 10 + 1);
    EXPECT_EQ(world.logged("could not be checked|does not serve|is down"), 0U);
}

}  // namespace
}  // namespace rate_limit::world::replica_choice_test
