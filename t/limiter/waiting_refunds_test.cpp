// A refund while the primary is away waits, summed with what is charged, and arrives when it is
// back; not in a later window. So does one while no script may run. A primary that refuses writes leaves
// reservations to rate_limit_on_error, and answers reads.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "t/limiter/one_machine.h"

namespace rate_limit::world::waiting_refunds_test {
namespace {

using Used = std::map<std::string, std::int64_t>;

Used used(Redis& redis, const Used& keys) {
    Used found;
    for (const auto& [key, count] : keys) {
        found[key] = redis.used(stored_key(key));
    }
    return found;
}

TEST(WaitingRefunds, ArriveInTheirWindowOnce) {
    OneMachine world({"default", "50r/h", "charge_refund"});
    const Millis ends = world.at(4'000);
    world.put_window(stored_key("closed"), 2, ends);
    std::map<std::string, ClientRequest*> open;
    for (const char* const key : {"closed", "down", "exempt", "mixed", "up"}) {
        open[key] = &world.begin({key, 4});
    }
    world.pass(10);
    const Used reserved{{"closed", 6}, {"down", 4}, {"exempt", 4}, {"mixed", 4}, {"up", 4}};
    EXPECT_EQ(used(world.primary, reserved), reserved);
    world.primary.kill(true);
    world.pass(10);
    for (int i = 0; i < 7; ++i) {
        EXPECT_EQ(world.ask("mixed"), "ERROR_ALLOWED");
    }
    world.pass(4'000);
    open["down"]->end_at_cost(1);
    open["up"]->end_at_cost(9);
    for (const char* const key : {"exempt", "mixed", "closed"}) {
        open[key]->end(true);
    }
    EXPECT_EQ(world.ask("closed"), "ERROR_ALLOWED") << "the next window is charged";
    world.primary.start();
    world.pass(30'000);
    const Used after{{"closed", 1}, {"down", 1}, {"exempt", 0}, {"mixed", 7}, {"up", 9}};
    EXPECT_EQ(used(world.primary, after), after);
    const Millis begun = Loop::usual_wall_clock;
    EXPECT_LT(world.primary.window(stored_key("mixed")).reset, begun + 3'600'100) << "its window";
    EXPECT_TRUE(world.stop_all());
    EXPECT_EQ(used(world.primary, after), after);
    EXPECT_EQ(world.logged("does not serve|[^0] dropped"), 0U);
}

class RefusedWrites : public testing::TestWithParam<const char*> {};

TEST_P(RefusedWrites, LeaveReservationsToOnErrorAndReadsGoOn) {
    Scenario world({"reserves", "9r/h", "charge_refund"});
    world.setup.limits.push_back({"checks", "9r/h", "check_charge"});
    Scripted primary(world.events, world.network, Scenario::primary_address,
                     [&](const Command& words, ScriptedClient&) -> ScriptedReply {
                         if (words[0] == "hmget") {
                             return hmget(3, world.at(1'800'000));
                         }
                         return is_write(words) ? error(GetParam()) : fallback(words);
                     });
    const RequestSetup request("k");
    EXPECT_EQ(world.ask(request.under({"reserves"}).or_else(OnError::deny)), "ERROR_DENIED");
    EXPECT_EQ(world.ask(request.or_else(OnError::allow)), "ERROR_ALLOWED");
    EXPECT_EQ(world.ask(request.under({"checks"}).or_else(OnError::deny)), "PASSED");
    EXPECT_EQ(world.logged("does not serve|[^0] dropped"), 0U);
}

INSTANTIATE_TEST_SUITE_P(Each, RefusedWrites,
                         testing::Values("OOM command not allowed when used memory > 'maxmemory'.",
                                         "READONLY You can't write against a read only replica."));

constexpr std::uint64_t clients = 100;

/// Three requests of each client are admitted; one stays, and two turn out to be free while something is
/// forbidden for a second.
void refund_without(OneMachine& world, const std::set<std::string, std::less<>>& rights) {
    world.worker();
    world.pass(1'000);
    std::vector<ClientRequest*> free;
    for (std::uint64_t i = 0; i < clients; ++i) {
        const std::string key = "k" + std::to_string(i);
        EXPECT_EQ(world.ask(key), "PASSED");
        free.push_back(&world.begin(key));
        free.push_back(&world.begin(key));
    }
    world.pass(100);
    world.primary.server().state.forbidden = rights;
    for (ClientRequest* request : free) {
        request->end(true);
        world.pass(5);
    }
    world.primary.server().state.forbidden.clear();
    world.pass(10'000);
}

/// No script may run for a while: what goes back waits as what is charged does, and goes back once.
TEST(WaitingRefunds, ArriveWhereNoScriptMightRun) {
    OneMachine world({"default", "1000r/h", "charge_refund"});
    refund_without(world, {"eval", "evalsha"});
    EXPECT_EQ(counted(world, Write::refunds_stored), 2 * clients);
    for (std::uint64_t i = 0; i < clients; ++i) {
        EXPECT_EQ(world.primary.used(stored_key("k" + std::to_string(i))), 1);
    }
    EXPECT_EQ(world.logged("were dropped|are in doubt|are lost"), 0U);
}

TEST(WaitingRefunds, ArriveInBucketsWhereNoScriptMightRun) {
    OneMachine world({"default", "60r/h", "charge_refund", 100});
    refund_without(world, {"eval", "evalsha"});
    EXPECT_EQ(counted(world, Write::refunds_stored), 2 * clients);
    EXPECT_EQ(world.logged("were dropped|are in doubt|are lost"), 0U);
}

/// A script may run, and not do all: perhaps it never may, and charges need not what it lacks. What it would
/// give back is dropped, counted and told, and charges do not wait.
TEST(RefusedRefunds, AreDroppedAndToldWhereTheirScriptMayNotDoAll) {
    OneMachine world({"default", "1000r/h", "charge_refund"});
    refund_without(world, {"hlen"});
    EXPECT_EQ(counted(world, Write::refunds_stored), 0U);
    EXPECT_EQ(counted(world, Write::refunds_dropped), 2 * clients);
    EXPECT_EQ(world.logged("for .* were dropped: noperm: .*[(]200 dropped so far[)]"), 1U);
    EXPECT_EQ(world.logged("refuses charges"), 0U);
}

}  // namespace
}  // namespace rate_limit::world::waiting_refunds_test
