// A store whose sentinels say where its primary is.

#include <memory>
#include <string>
#include <vector>

#include "t/limiter/one_machine.h"
#include "t/limiter/poster.h"
#include "t/world/master_watch.h"

namespace rate_limit::world::sentinels_test {
namespace {

const std::string key = "rl:default/3600:client";

/// One machine, three sentinels, and a primary with two replicas.
struct WithSentinels : OneMachine {
    explicit WithSentinels(const std::string& mode = "charge_refund")
        : OneMachine({"default", "10r/h", mode}) {
        StoreSetup& store = setup.stores.front();
        store.shards = {{"a", "", {}, "m"}};
        for (const auto& sentinel : sentinels) {
            store.sentinels.push_back(sentinel->address());
        }
    }

    /// The sentinels agree on another primary, and each learns it at once.
    void fail_over(Redis& next) {
        watch.promote(next);
        watch.tell_all();
    }

    int admits_of(int requests) {
        int admitted = 0;
        for (int i = 0; i < requests; ++i) {
            admitted += admits("client") ? 1 : 0;
        }
        return admitted;
    }

    Redis& former = primary;
    Redis second{events, network, "10.0.0.2:6379"};
    Redis third{events, network, "10.0.0.3:6379"};
    LostWrites lost;
    ReplicaSet set{{&former, &second, &third}, lost};
    std::vector<std::unique_ptr<Sentinel>> sentinels = [this] {
        std::vector<std::unique_ptr<Sentinel>> made;
        for (const char* address : {"10.0.1.1:26379", "10.0.1.2:26379", "10.0.1.3:26379"}) {
            made.push_back(std::make_unique<Sentinel>(network, address));
        }
        return made;
    }();
    MasterWatch watch{"m", set, {sentinels[0].get(), sentinels[1].get(), sentinels[2].get()}};
};

TEST(Sentinels, SayWhereThePrimaryIs) {
    WithSentinels world;
    world.worker();
    world.pass(100);
    EXPECT_EQ(world.admits_of(12), 10);
    EXPECT_EQ(world.former.used(key), 10);
    EXPECT_EQ(world.second.used(key), 10);
}

TEST(Sentinels, SayWhereOperatorsLookUpAndGiveBack) {
    WithSentinels world;
    world.worker();
    world.pass(100);
    const auto post = [&world](const std::string& does) {
        return answer_to(world, does + "key=client&limit=default");
    };
    EXPECT_EQ(world.admits_of(12), 10);
    EXPECT_TRUE(has(post(""), "\"used\":10"));
    EXPECT_TRUE(has(post("do=reset&"), "\"used\":0"));
    EXPECT_EQ(world.former.used(key), 0);
    EXPECT_EQ(world.admits_of(12), 10);
    world.pass(1'000);
    world.fail_over(world.second);
    world.pass(1'000);
    EXPECT_TRUE(has(post(""), "\"used\":10"));
    EXPECT_TRUE(has(post("do=add&cost=2&"), "\"used\":8"));
    EXPECT_EQ(world.second.used(key), 8);
    EXPECT_EQ(world.admits_of(3), 2);
}

TEST(Sentinels, AreFollowedToAnotherPrimary) {
    WithSentinels world;
    world.worker();
    world.pass(100);
    EXPECT_EQ(world.admits_of(4), 4);
    world.fail_over(world.second);
    world.pass(1'000);
    EXPECT_EQ(world.admits_of(10), 6);
    EXPECT_EQ(world.second.used(key), 10);
    EXPECT_EQ(world.former.used(key), 4);
    EXPECT_EQ(world.lost.of(key).taken, 0);
}

/// The writes that the former primary took meanwhile are what the world calls lost.
TEST(Sentinels, ThatTellOfAFailoverLateLoseWhatTheFormerPrimaryTook) {
    WithSentinels world;
    world.worker();
    world.pass(100);
    EXPECT_EQ(world.admits_of(4), 4);
    world.watch.promote(world.second);
    EXPECT_EQ(world.admits_of(3), 3);
    world.watch.tell_all();
    world.pass(1'000);
    world.set.follow(world.former, true);
    EXPECT_EQ(world.lost.of(key).taken, 3);
    EXPECT_EQ(world.admits_of(10), 6);
    EXPECT_EQ(world.second.used(key), 10);
    world.pass(10);
    EXPECT_EQ(world.former.used(key), 10);
}

TEST(Sentinels, ThatDoNotAnswerLeaveTheLastWordInForce) {
    WithSentinels world;
    world.worker();
    world.pass(100);
    for (const auto& sentinel : world.sentinels) {
        sentinel->kill();
    }
    world.pass(5'000);
    EXPECT_EQ(world.logged("the sentinels of \"main\" do not answer"), 1U);
    EXPECT_EQ(world.admits_of(12), 10);
}

/// They answer what they were asked before the time in which they are asked again.
TEST(Sentinels, ThatDoNotAnswerKeepNoWorker) {
    WithSentinels world;
    world.setup.stores.front().check_timeout = world.setup.stores.front().connect_timeout = 60'000;
    WorkerProcess& worker = world.worker();
    world.pass(100);
    EXPECT_EQ(world.admits_of(1), 1);
    world.sentinels[0]->link().silent = true;
    world.sentinels[1]->kill();
    EXPECT_TRUE(world.until([&world] { return world.logged("sentinel \\S+ of \"main\" is down") == 1; }));
    world.pass(1'000);
    EXPECT_TRUE(world.stop(worker, 500));
}

TEST(SentinelsFarAway, AreNotTakenForThoseThatDoNotAnswer) {
    for (const Micros each_way : {10'000, 30'000, 57'000, 60'000, 90'000}) {
        WithSentinels world;
        for (const auto& sentinel : world.sentinels) {
            sentinel->link().there = each_way;
            sentinel->link().back = each_way;
        }
        world.worker();
        world.pass(10'000);
        EXPECT_EQ(world.logged("do not answer"), 0U) << each_way;
    }
}

TEST(ASentinelThatHasSlept, DoesNotLeadBackToTheFormerPrimary) {
    WithSentinels world;
    world.worker();
    world.pass(100);
    world.watch.promote(world.second);
    world.watch.tell(*world.sentinels[1]);
    world.watch.tell(*world.sentinels[2]);
    world.pass(2'000);
    EXPECT_EQ(world.admits_of(12), 10);
    EXPECT_EQ(world.former.used(key), 0);
    EXPECT_EQ(world.second.used(key), 10);
}

}  // namespace
}  // namespace rate_limit::world::sentinels_test
