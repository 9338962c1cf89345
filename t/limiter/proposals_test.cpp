// check_charge: a request proposes the end of its window, and is charged when it ends. The proposal opens the
// window where none is open by then; all requests of a machine that run share it.

#include <set>
#include <string>
#include <vector>

#include "t/limiter/one_machine.h"

namespace rate_limit::world::proposals_test {
namespace {

class Proposals : public testing::Test {
protected:
    explicit Proposals(const std::string& rate = "50r/h", const std::string& period = "3600")
        : key(stored_key("k", period)), world({"default", rate}) {}

    ClientRequest& begin(std::size_t worker = 0) {
        ClientRequest& request = world.begin("k", &world.worker(worker));
        world.pass(5);
        EXPECT_EQ(outcome(request), "PASSED");
        return request;
    }

    void end(ClientRequest& request, bool exempt = false) {
        request.end(exempt);
        world.pass(5);
    }

    static Millis reset_of(const ClientRequest& request) { return request.applied(0).verdict.window.reset; }

    Window stored() { return world.primary.window(key); }

    const std::string key;
    OneMachine world;
};

TEST_F(Proposals, OpenTheWindowAsTheyWereShown) {
    const Millis begun = world.at();
    ClientRequest& first = begin();
    ClientRequest& second = begin();
    world.pass(100);
    EXPECT_FALSE(world.has(key)) << "nothing is charged before the end";
    end(first);
    EXPECT_EQ(stored().used, 1);
    EXPECT_EQ(stored().reset, begun + 3'600'000);
    EXPECT_EQ(first.quota().reset, reset_seconds(stored().reset));
    end(second);
    EXPECT_EQ(stored().used, 2);
    EXPECT_EQ(reset_of(second), stored().reset);
}

TEST_F(Proposals, GiveWayToAWindowThatIsOpenAtTheEnd) {
    ClientRequest& request = begin();
    const Millis reset = world.at(1'800'000);
    world.put_window(key, 4, reset);
    end(request);
    EXPECT_EQ(stored().used, 5);
    EXPECT_EQ(stored().reset, reset);
    EXPECT_EQ(reset_of(begin()), reset);
}

TEST_F(Proposals, FollowAWindowThatClosesWhileTheRequestRuns) {
    const Millis reset = world.at(2'000);
    world.put_window(key, 4, reset);
    ClientRequest& request = begin();
    EXPECT_EQ(request.quota().used, 5) << "it is shown as it was";
    world.pass(2'020);
    end(request);
    EXPECT_EQ(stored().used, 1);
    EXPECT_GT(stored().reset, reset + 3'590'000);
}

TEST_F(Proposals, AreOneForAllThatRun) {
    std::vector<ClientRequest*> charged;
    std::vector<ClientRequest*> exempt;
    for (const Msec pause : {0, 2'000}) {
        world.pass(pause);
        for (std::size_t i = 0; i < 6; ++i) {
            charged.push_back(&begin(i % 4));
            EXPECT_EQ(charged.back()->quota().used, charged.size() + exempt.size()) << "with those in flight";
        }
        for (std::size_t i = 0; pause == 0 && i < 2; ++i) {
            exempt.push_back(&begin(i));
        }
    }
    std::set<Millis> resets;
    for (ClientRequest* request : exempt) {
        resets.insert(reset_of(*request));
        end(*request, true);
    }
    for (ClientRequest* request : charged) {
        resets.insert(reset_of(*request));
        end(*request);
    }
    EXPECT_EQ(resets, std::set<Millis>{stored().reset});
    EXPECT_EQ(stored().used, 12);
    EXPECT_EQ(reset_of(begin()), stored().reset);
}

TEST_F(Proposals, LiveNoLongerThanRequestsThatMayBeCharged) {
    for (const Msec runs : {0, 10'000}) {
        world.remove(key);
        ClientRequest& exempt = begin();
        world.pass(runs);
        end(exempt, true);
        EXPECT_EQ(exempt.quota().used, 0);
        world.pass(10'000);
        const Millis now = world.at();
        ClientRequest& first = begin();
        EXPECT_EQ(reset_of(first), now + 3'600'000) << "a full period";
        end(first);
        EXPECT_EQ(stored().reset, reset_of(first));
        world.pass(3'700'000);
    }
    ClientRequest& exempt = begin();
    ClientRequest& charged = begin();
    world.pass(10'000);
    end(exempt, true);
    end(charged);
    EXPECT_EQ(reset_of(exempt), reset_of(charged));
    EXPECT_EQ(stored().reset, reset_of(charged)) << "it is one that is stored";
}

class ProposalsOfASecond : public Proposals {
protected:
    ProposalsOfASecond() : Proposals("9r/s", "1") {}
};

TEST_F(ProposalsOfASecond, ThatHavePassedAreReplaced) {
    ClientRequest& request = begin();
    world.pass(1'050);
    const Millis now = world.at();
    end(request);
    EXPECT_EQ(stored().used, 1);
    EXPECT_NEAR(static_cast<double>(stored().reset), static_cast<double>(now + 1'000), 1);
}

/// The increments that make its key anew are put right.
TEST_F(Proposals, OpenAWindowThatWasDeletedWhileRequestsRan) {
    for (const std::int64_t cost : {1, 7}) {
        world.remove(key);
        end(begin());
        world.let_connections_age();
        std::vector<ClientRequest*> requests;
        for (int i = 0; i < 3; ++i) {
            requests.push_back(&begin());
        }
        world.remove(key);
        world.primary.server().forget_scripts();
        for (ClientRequest* request : requests) {
            request->end_at_cost(cost);
        }
        world.pass(50);
        EXPECT_EQ(stored().used, 3 * cost);
        EXPECT_NEAR(static_cast<double>(stored().reset - world.at()), 3'600'000, 5'000);
        const Value& value = *world.primary.server().databases().front().find(key);
        EXPECT_NEAR(static_cast<double>(value.expires), static_cast<double>(stored().reset + 1'000), 5);
        end(begin());
        EXPECT_EQ(stored().used, 3 * cost + 1);
        EXPECT_EQ(begin().quota().used, 3 * cost + 2);
        world.pass(3'700'000);
    }
}

}  // namespace
}  // namespace rate_limit::world::proposals_test
