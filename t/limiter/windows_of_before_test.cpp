// A primary that has the window of before in place of one that was just opened: it has become the primary
// within a second of that one's end, and had not heard of the next. No increment may be counted there.

#include <optional>
#include <string>
#include <vector>

#include "limiter/charges/confirmations.h"
#include "t/limiter/one_machine.h"
#include "t/limiter/scripted_cluster.h"
#include "t/world/sentinel.h"

namespace rate_limit::world::windows_of_before_test {
namespace {

constexpr const char* key = "rl:default/10c:k";
constexpr Millis reset_of_all = Loop::usual_wall_clock + 1'800'000;

/// The way in which the server comes to its data: it is another one at the same address, with or without a
/// pause; or it is the replica that a sentinel names.
enum class Way { restart, reset, failover };

struct Case {
    const char* mode;
    std::int64_t before;   ///< used of the window of before
    std::size_t together;  ///< requests at a time, after that
    Way way;
    std::size_t running = 0;  ///< requests that begin before the loss, and end after it
};

/// A primary, and a replica that a sentinel knows.
class AfterAFailover {
public:
    explicit AfterAFailover(const Case& of) : what(of), world({"default", "6r/10s", of.mode}, 1'000) {
        world.setup.limits.front().window = "clock";
        // The memory of this machine lets those in: the replica has not heard of their window.
        world.setup.stores.front().fresh = what.running != 0 ? std::optional<Msec>(1'000) : std::nullopt;
        if (what.way == Way::failover) {
            StoreSetup& store = world.setup.stores.front();
            store.shards = {{"a", "", {}, "m"}};
            store.sentinels = {sentinel.address()};
            sentinel.watch("m").primary = world.primary.address();
            sentinel.watch("m").replicas = {{next.address()}};
            next.server().state.role = ServerRole::replica;
        }
        world.worker();
        world.pass(2'000);
        end = (world.at() / 10'000 + 1) * 10'000;
    }

    /// The window of before is used, and has ended, and two requests are charged to the next one. That is
    /// lost: the new primary has the one of before.
    void lose() {
        pass_to(end - 2'000);
        for (std::int64_t i = 0; i < what.before; ++i) {
            EXPECT_EQ(world.ask("k"), "PASSED");
        }
        world.pass(50);
        const Value before = *world.primary.server().databases().front().find(key);
        pass_to(end + 50);
        EXPECT_EQ(world.ask("k"), "PASSED");
        EXPECT_EQ(world.ask("k"), "PASSED");
        world.pass(20);
        ASSERT_EQ(world.primary.used(key), 2);
        while (running.size() < what.running) {
            running.push_back(&world.begin("k"));
        }
        world.pass(20);
        replace(before);
        ASSERT_LT(world.at(), end + 1'000) << "the window of before is still there";
    }

    /// Returns how many of the two lost requests the next primary is told of: both, in check_charge at a
    /// failover.
    std::int64_t told() const {
        return std::string(what.mode) == "check_charge" && what.way == Way::failover ? 2 : 0;
    }

    /// Returns how many requests are admitted until four seconds after the end of the window of before.
    std::int64_t admitted() {
        (void)world.ask("other");  // shows that the new primary takes charges
        world.pass(20);
        std::int64_t admitted = 0;
        while (world.at() < end + 4'000) {
            std::vector<ClientRequest*> requests;
            for (std::size_t i = 0; i < what.together; ++i) {
                requests.push_back(&world.begin("k"));
            }
            world.pass(20);
            for (ClientRequest* request : requests) {
                if (request->is_admitted()) {
                    ++admitted;
                    request->end();
                }
            }
            world.pass(150);
        }
        return admitted;
    }

    const Case what;
    OneMachine world;
    Redis next{world.events, world.network, "10.0.0.2:6379"};
    Sentinel sentinel{world.network, "10.0.1.1:26379"};
    Redis& now = what.way == Way::failover ? next : world.primary;  // the primary after that
    Millis end = 0;                                                 // of the window of before
    std::vector<ClientRequest*> running;

private:
    void pass_to(Millis time) { world.pass(static_cast<Msec>(time - world.at())); }

    void replace(const Value& before) {
        now.server().databases().front().make(key) = before;
        if (what.way == Way::restart) {
            world.primary.kill(true);
            world.primary.start();
        } else if (what.way == Way::reset) {
            world.primary.reset_connections();
        } else {
            next.server().state.role = ServerRole::primary;
            sentinel.watch("m").replicas = {{world.primary.address()}};
            sentinel.watch("m").primary = next.address();
            sentinel.watch("m").epoch = 2;
            world.primary.kill(false);
            EXPECT_TRUE(world.until([&] { return world.logged("before it was") != 0; }, 900));
        }
        world.pass(20);
    }
};

/// No more than 6 of the requests that the new primary answers are admitted.
void run(const Case& what) {
    SCOPED_TRACE(std::string(what.mode) + ", " + std::to_string(what.before) + " before, " +
                 std::to_string(what.together) + " together, way " +
                 std::to_string(static_cast<int>(what.way)));
    AfterAFailover failover(what);
    failover.lose();
    const std::int64_t admitted = failover.admitted();
    // Requests that are admitted by the memory of the lost window are charged, and checks see them.
    EXPECT_LE(admitted, std::string(what.mode) == "check_charge" ? 6 + what.together : 6U);
    EXPECT_EQ(failover.now.used(key), admitted + failover.told());
    EXPECT_EQ(failover.now.window(key).reset, failover.end + 10'000);
}

TEST(AWindowOfBefore, IsNotChargedForTheOneThatIsOpen) {
    for (const char* mode : {"check_charge", "charge_refund"}) {
        for (const std::int64_t before : {1, 6}) {
            for (const std::size_t together : {1U, 4U}) {
                for (const Way way : {Way::restart, Way::reset, Way::failover}) {
                    run({mode, before, together, way});
                }
            }
        }
    }
}

/// The requests have found the window open at the primary of before.
TEST(AWindowOfBefore, IsNotChargedWhereRequestsEndLater) {
    for (const Way way : {Way::restart, Way::reset, Way::failover}) {
        SCOPED_TRACE(static_cast<int>(way));
        AfterAFailover failover({"check_charge", 1, 0, way, 2});
        failover.lose();
        (void)failover.world.ask("other");  // shows that the new primary takes charges
        failover.world.pass(20);
        for (ClientRequest* request : failover.running) {
            ASSERT_TRUE(request->is_admitted());
            request->end();
            failover.world.pass(20);
        }
        EXPECT_EQ(failover.now.used(key), 2 + failover.told());
        EXPECT_EQ(failover.now.window(key).reset, failover.end + 10'000);
    }
}

/// A penalty, or an operator's end of one, keeps the key of a window for longer than a new primary is new.
TEST(AWindowThatAPenaltyKeeps, IsNotChargedForTheOneThatIsOpen) {
    for (const char* mode : {"check_charge", "charge_refund"}) {
        SCOPED_TRACE(mode);
        OneMachine world({"default", "20r/20s", mode}, 1'000);
        world.setup.limits.front().penalty = 60'000;
        constexpr const char* kept = "rl:default/20:k";
        EXPECT_EQ(world.ask("k"), "PASSED");
        world.pass(50);
        Value before = *world.primary.server().databases().front().find(kept);
        std::get<Hash>(before.content).set("until", "0");
        before.expires = world.at() + 120'000;
        world.pass(20'050);
        EXPECT_EQ(world.ask("k"), "PASSED");
        EXPECT_EQ(world.ask("k"), "PASSED");
        world.pass(20);
        ASSERT_EQ(world.primary.used(kept), 2);
        world.primary.server().databases().front().make(kept) = before;
        world.primary.kill(true);
        world.primary.start();
        world.pass(2'200);
        for (int i = 0; i < 8; ++i) {
            EXPECT_EQ(world.ask("k"), "PASSED");
            world.pass(50);
        }
        EXPECT_EQ(world.primary.used(kept), 8);
        EXPECT_GT(world.primary.window(kept).reset, world.at());
    }
}

/// A node of a cluster sends commands on to one that may have become the primary just before.
TEST(AnIncrementThatIsRedirected, GoesByScript) {
    constexpr const char* first = "10.0.0.1:7000";
    constexpr const char* second = "10.0.0.2:7000";
    for (const char* mode : {"check_charge", "charge_refund"}) {
        SCOPED_TRACE(mode);
        Scenario world({"default", "1000r/h", mode});
        StoreSetup& store = world.setup.stores.front();
        store.shards.clear();
        store.seeds = {first};
        bool moves = false;
        const auto serving = [](const Command& words) -> ScriptedReply {
            return words[0] == "hmget" ? hmget(5, reset_of_all) : serve(words, reset_of_all);
        };
        Scripted from(world.events, world.network, first,
                      [&](const Command& words, ScriptedClient&) -> ScriptedReply {
                          return words[0] == "cluster"      ? one_primary(first)
                                 : moves && is_write(words) ? moved(*slot_of(words), second)
                                                            : serving(words);
                      });
        Scripted to(world.events, world.network, second,
                    [&](const Command& words, ScriptedClient&) { return serving(words); });
        EXPECT_TRUE(world.until([&] { return world.ask("other") == "PASSED"; }));
        world.pass(Confirmations::heard_late);
        EXPECT_EQ(world.ask("k"), "PASSED");
        world.pass(2'000);
        from.forget();
        moves = true;
        EXPECT_EQ(world.ask("k"), "PASSED");
        world.pass(100);
        EXPECT_EQ(from.commands("hincrby").size(), 1U);
        EXPECT_EQ(to.commands("hincrby").size(), 0U);
        EXPECT_EQ(to.writes().size(), 1U);
    }
}

}  // namespace
}  // namespace rate_limit::world::windows_of_before_test
