// Two machines share slots of running requests through Redis: whatever becomes of Redis, of a machine or of a
// worker, no more requests run than the limit says, but for those of which Redis cannot know, and no slot is
// lost.

#include "t/limiter/slots.h"

namespace rate_limit::world::slots_test {
namespace {

using Texts = std::vector<std::string>;
using Requests = std::vector<ClientRequest*>;

class Slots : public testing::Test {
protected:
    explicit Slots(const char* limit = "4") : world(running(limit), 2'000) {
        world.setup.on_error = OnError::deny;
    }

    /// So many requests that go on, by turns in both workers of the machine.
    Requests run(std::size_t machine, std::size_t count, const RequestSetup& what = "k",
                 const std::string& expected = "PASSED") {
        Requests all;
        for (std::size_t i = 0; i < count; ++i) {
            all.push_back(&world.begin(what, &world.worker(i % 2, machine)));
            EXPECT_TRUE(world.until([&all] { return all.back()->is_decided(); }));
            EXPECT_EQ(outcome(*all.back()), expected);
        }
        return all;
    }

    static void end(const Requests& requests) {
        for (ClientRequest* request : requests) {
            request->end();
        }
    }

    std::string ask(std::size_t machine, const RequestSetup& what = "k") {
        return world.ask(what, &world.worker(0, machine));
    }

    /// One request on each machine.
    Texts ask_both() {
        world.pass(60);  // a machine that was told that the limit is reached asks again
        return {ask(0), ask(1)};
    }

    bool comes_to(const std::string& slots, Msec at_most = 60'000) {
        return world.until([&] { return held(world.primary) == slots; }, at_most);
    }

    static constexpr Msec told_again = 16'000;  // half of the time that slots last, and a round of upkeep
    const Texts passed{"PASSED", "PASSED"};
    const Texts rejected{"REJECTED", "REJECTED"};
    OneMachine world;
};

TEST_F(Slots, ThatRedisHasLostAreToldAgain) {
    const Requests three = run(0, 3);
    const Requests one = run(1, 1);
    EXPECT_EQ(held(world.primary), "1 3 ");
    world.primary.lose_data(nullptr);
    EXPECT_TRUE(comes_to("1 3 ", told_again)) << "though no request comes";
    EXPECT_EQ(ask_both(), rejected);
    end(three);
    end(one);
    EXPECT_TRUE(comes_to(""));
    EXPECT_EQ(ask_both(), passed);
}

TEST_F(Slots, ThatAFailoverHasLostLetOneInTooManyUntilTheyAreTold) {
    Requests open = run(1, 1);
    for (ClientRequest* request : run(0, 2)) {
        open.push_back(request);
    }
    LostWrites lost;
    world.primary.keep(lost);
    open.push_back(run(0, 1).front());
    EXPECT_EQ(held(world.primary), "1 3 ");
    world.primary.restore();
    world.primary.reset_connections();
    EXPECT_EQ(held(world.primary), "1 2 ");
    EXPECT_TRUE(world.until([this] { return ask(1, "other") == "PASSED"; }));
    open.push_back(run(1, 1).front());
    EXPECT_EQ(held(world.primary), "2 2 ") << "the new primary does not know better";
    EXPECT_EQ(ask(1), "REJECTED") << "and lets no second one in";
    EXPECT_TRUE(comes_to("2 3 ", told_again));
    EXPECT_EQ(ask_both(), rejected);
    end(open);
    EXPECT_TRUE(comes_to(""));
    const Requests two = run(0, 2);
    const Requests others = run(1, 2);
    EXPECT_EQ(ask_both(), rejected) << "four run again, and no more";
    end(two);
    end(others);
}

TEST_F(Slots, OfAMachineThatIsCutOffForLongerThanTheyLastAreOthers) {
    Requests cut = run(0, 3);
    Requests others = run(1, 1);
    EXPECT_EQ(ask_both(), rejected);
    Path& path = world.network.path(0, Scenario::primary_address);
    path.parted = true;
    world.pass(16'000);
    EXPECT_EQ(ask(1), "REJECTED") << "after sixteen seconds it still holds them";
    world.pass(15'000);
    for (ClientRequest* request : run(1, 3)) {
        others.push_back(request);
    }
    EXPECT_EQ(held(world.primary), "4 ");
    EXPECT_EQ(ask(1), "REJECTED");
    EXPECT_EQ(ask(0), "ERROR_DENIED") << "it lets in none";
    path.parted = false;
    EXPECT_TRUE(comes_to("3 4 "));
    EXPECT_TRUE(world.until([this] { return ask_both() == rejected; })) << "seven run, for once";
    end({others.begin(), others.begin() + 3});
    EXPECT_TRUE(comes_to("1 3 "));
    EXPECT_EQ(ask_both(), rejected) << "four run";
    cut.back()->end();
    cut.pop_back();
    EXPECT_TRUE(comes_to("1 2 "));
    world.pass(60);
    others = {others.back(), run(1, 1).front()};
    EXPECT_EQ(ask_both(), rejected) << "no second one is let in";
    end(cut);
    end(others);
    EXPECT_TRUE(comes_to(""));
    EXPECT_EQ(ask_both(), passed);
}

/// The command that gives them back may be run late, or not at all.
TEST_F(Slots, ThatGoBackToAFrozenRedisAreThereOnce) {
    for (int round = 0; round < 3; ++round) {
        const Requests four = run(0, 4);
        EXPECT_EQ(ask(1), "REJECTED");
        world.primary.pause();
        end(four);
        world.pass(round * 1'000);
        world.primary.resume();
        Requests all;
        EXPECT_TRUE(world.until([&] {
            ClientRequest& request = world.begin("k", &world.worker(0, 1));
            world.until([&request] { return request.is_decided(); });
            if (request.is_admitted()) {
                all.push_back(&request);
            }
            return all.size() == 4;
        }));
        EXPECT_EQ(ask_both(), rejected);
        end(all);
        EXPECT_TRUE(comes_to(""));
        world.pass(60);
    }
}

/// Each answer takes longer than the pause between two questions of a machine.
TEST_F(Slots, OfAFarRedisRejectInsteadOfErrors) {
    world.primary.link().there = world.primary.link().back = 35'000;
    const Requests four = run(0, 4);
    for (const std::size_t machine : {0, 1}) {
        for (int i = 0; i < 5; ++i) {
            EXPECT_EQ(ask(machine), "REJECTED");
        }
    }
    end(four);
    EXPECT_TRUE(world.until([this] { return ask(1) == "PASSED"; }));
}

TEST_F(Slots, OfAKilledMachineLapseAfter30Seconds) {
    run(1, 4);
    EXPECT_EQ(ask(0), "REJECTED");
    world.kill(1, 1);
    world.kill(0, 1);
    world.pass(29'900);
    EXPECT_EQ(ask(0), "REJECTED") << "Redis still counts them";
    EXPECT_TRUE(world.until([this] { return ask(0) == "PASSED"; }, 200));
    const Requests four = run(0, 4);
    EXPECT_EQ(ask(0), "REJECTED") << "as many as there are";
    end(four);
}

/// A number that no call of the machine ever had, as another program may write it.
TEST_F(Slots, WithAGarbageNumberAreThoseOfTheNextCall) {
    EXPECT_EQ(ask(0, "first"), "PASSED");
    Keyspace& keys = world.primary.server().databases().front();
    const auto fields = [&keys](const std::string& key) -> Hash& {
        return std::get<Hash>(keys.find(stored_key(key, "n"))->content);
    };
    const std::string machine = fields("first").fields().front().first;
    for (const std::string number : {"800000000000001", "999999999999999", "9999999999999999"}) {
        keys.make(stored_key(number, "n")).content = Hash{};
        fields(number).set(machine, "0 0 " + number);
        for (int i = 0; i < 5; ++i) {
            EXPECT_EQ(ask(0, number), "PASSED") << number;
        }
        const std::string& now = *fields(number).find(machine);
        EXPECT_LT(std::stoull(now.substr(now.rfind(' '))), 800'000'000'000'000U);
    }
    EXPECT_EQ(world.logged("malformed"), 0U);
}

class SlotsOfBothStores : public Slots {
protected:
    SlotsOfBothStores() : Slots("1") { world.setup.limits.push_back(running("1", "here", "local")); }
};

/// It is as one of an upgraded connection, which a reload leaves with its old worker.
TEST_F(SlotsOfBothStores, OfALongRequestAreHeldForLongerThanTheyLast) {
    Requests open;
    for (const char* limit : {"default", "here"}) {
        open.push_back(run(0, 1, RequestSetup("k").under({limit})).front());
    }
    for (int round = 1; round <= 5; ++round) {
        world.pass(16'000);
        EXPECT_EQ(held(world.primary), "1 ");
        for (const char* limit : {"default", "here"}) {
            EXPECT_EQ(world.ask(RequestSetup("k").under({limit})), "REJECTED") << limit;
        }
        EXPECT_EQ(ask(1, RequestSetup("k").under({"default"})), "REJECTED");
        if (round == 2) {
            world.reload();
        }
    }
    end(open);
    EXPECT_TRUE(comes_to(""));
    for (const char* limit : {"default", "here"}) {
        EXPECT_EQ(world.ask(RequestSetup("k").under({limit})), "PASSED") << limit;
    }
    EXPECT_TRUE(world.until([this] { return ask(1) == "PASSED"; }));
}

class TenSlots : public Slots {
protected:
    TenSlots() : Slots("10") {}
};

/// No further request comes to that machine.
TEST_F(TenSlots, OfAKilledWorkerGoBackWithinASecond) {
    const auto key = [](int i) { return "k" + std::to_string(i); };
    std::vector<Requests> others;
    for (int i = 0; i < 20; ++i) {
        run(0, 6, key(i));
    }
    world.kill(1, 0);
    EXPECT_TRUE(world.until(
        [&] {
            int left = 0;
            for (int i = 0; i < 20; ++i) {
                left += held(world.primary, key(i)) != "3 " ? 1 : 0;
            }
            return left == 0;
        },
        1'000));
    const Requests seven = run(1, 7, key(0));
    EXPECT_EQ(ask(1, key(0)), "REJECTED") << "another machine has those, and no more";
    end(seven);
}

/// The ways in which Redis fails until it is back.
class SlotsWithoutRedis : public testing::WithParamInterface<bool>, public Slots {
protected:
    explicit SlotsWithoutRedis(const char* limit = "4") : Slots(limit) {}

    void leave() { GetParam() ? world.primary.kill(true) : world.primary.pause(); }

    void come_back() { GetParam() ? world.primary.start() : world.primary.resume(); }
};

TEST_P(SlotsWithoutRedis, AreThoseOfTheMachineAndThenErrorsDecide) {
    const auto of = [](const char* key, OnError decides) { return RequestSetup(key).or_else(decides); };
    Requests open = run(0, 3, "held");
    const auto add = [&](const Requests& more) { open.insert(open.end(), more.begin(), more.end()); };
    leave();
    for (int i = 0; i < 4; ++i) {
        run(i % 2, 1, "first", "ERROR_DENIED");
    }
    EXPECT_EQ(ask(0, of("held", OnError::deny)), "ERROR_DENIED");
    EXPECT_EQ(ask(0, of("none", OnError::deny)), "ERROR_DENIED");
    add(run(0, 4, of("local", OnError::local), "ERROR_LOCAL"));
    EXPECT_EQ(ask(0, of("local", OnError::local)), "REJECTED") << "as many as the limit on this machine";
    add(run(0, 6, of("none", OnError::allow), "ERROR_ALLOWED"));
    add(run(0, 1, of("held", OnError::local), "ERROR_LOCAL"));
    EXPECT_EQ(ask(0, of("held", OnError::local)), "REJECTED") << "those that ran before count";
    come_back();
    for (const auto& [key, slots] : {std::pair{"held", "4 "}, {"none", "6 "}, {"local", "4 "}}) {
        EXPECT_TRUE(world.until([&, name = key, due = slots] { return held(world.primary, name) == due; }));
        EXPECT_TRUE(world.until([&, name = key] { return ask(1, name) == "REJECTED"; }));
    }
    end(open);
    for (const char* key : {"held", "none", "local"}) {
        EXPECT_TRUE(world.until([&] { return held(world.primary, key).empty(); }));
        EXPECT_EQ(ask(1, key), "PASSED");
    }
}

INSTANTIATE_TEST_SUITE_P(Each, SlotsWithoutRedis, testing::Bool());

/// A machine holds some slots of such a limit that no request uses.
class SpareSlotsWithoutRedis : public SlotsWithoutRedis {
protected:
    SpareSlotsWithoutRedis() : SlotsWithoutRedis("1000") {}
};

TEST_P(SpareSlotsWithoutRedis, AreUsedToTheLastOne) {
    Requests open = run(0, 30);
    const Requests brief = run(0, 20);
    const std::string slots = held(world.primary);
    ASSERT_GE(std::stoi(slots), 50);
    leave();
    end(brief);
    for (ClientRequest* request : run(0, std::stoul(slots) - 30)) {
        open.push_back(request);
    }
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(ask(0), "ERROR_DENIED");
    }
    EXPECT_EQ(ask(0, "new"), "ERROR_DENIED");
    come_back();
    EXPECT_TRUE(world.until([this] { return ask(0, "new") == "PASSED"; }));
    EXPECT_TRUE(world.until([&] { return std::stoi(held(world.primary)) >= std::stoi(slots); }));
    end(open);
    EXPECT_TRUE(comes_to(""));
}

INSTANTIATE_TEST_SUITE_P(Each, SpareSlotsWithoutRedis, testing::Bool());

}  // namespace
}  // namespace rate_limit::world::slots_test
