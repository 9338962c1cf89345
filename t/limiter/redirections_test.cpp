// Rows 22, 27, 31 of the fault matrix. Nodes of a cluster send commands elsewhere: by MOVED and ASK that lead
// nowhere, in circles, to replicas, too late, by thousands; or know less than others of where slots are.

#include <string>
#include <vector>

#include "t/limiter/checked.h"
#include "t/limiter/scripted_cluster.h"

namespace rate_limit::world::redirections_test {
namespace {

constexpr const char* first_node = "10.0.0.1:7000";
constexpr const char* second_node = "10.0.0.2:7000";
constexpr const char* third_node = "10.0.0.3:7000";
constexpr Millis reset_of_all = Loop::usual_wall_clock + 1'800'000;

/// A world whose store is a cluster, with the first node as its seed.
struct ClusterWorld : Scenario {
    explicit ClusterWorld(const LimitSetup& limit = {"default", "1000r/h"}) : Scenario(limit) {
        StoreSetup store;
        store.seeds = {first_node};
        store.check_timeout = 2'000;
        store.connect_timeout = 9'000;
        store.charge_timeout = 20'000;
        setup.stores = {store};
        setup.limits.push_back({"r", "1000r/h", "charge_refund"});
    }

    std::string check_charge(const std::string& key) { return ask(RequestSetup(key).under({"default"})); }
    std::string reserve(const std::string& key) { return ask(RequestSetup(key).under({"r"})); }
    bool knows_the_map(const std::string& key = "other") {
        return until([&] { return check_charge(key) == "PASSED"; });
    }
};

using Answer = std::function<ScriptedReply(std::int64_t slot, const Command& words)>;

/// A node that tells this map, and answers commands about windows by `answer`.
Handler node(std::function<std::string()> map, Answer answer) {
    return [map = std::move(map), answer = std::move(answer)](const Command& words,
                                                              ScriptedClient&) -> ScriptedReply {
        const auto slot = slot_of(words);
        return words[0] == "cluster" ? ScriptedReply(map()) : slot ? answer(*slot, words) : fallback(words);
    };
}

ScriptedReply serves(std::int64_t /*slot*/, const Command& words) {
    return serve(words, reset_of_all);
}

/// While a slot moves to a node that is down, charges wait and are tried now and then; to one that is cut off
/// after it got them, they are in doubt once.
TEST(AskThatLeadsNowhere, HasChargesWaitAndIsFollowedOnce) {
    ClusterWorld world;
    const std::int64_t moving = key_slot(stored_key("moving"));
    bool cuts = false;
    Scripted from(world.events, world.network, first_node,
                  node([] { return one_primary(first_node); },
                       [moving](std::int64_t slot, const Command& words) -> ScriptedReply {
                           return slot == moving && is_write(words) ? ask(slot, second_node)
                                                                    : serve(words, reset_of_all);
                       }));
    Scripted to(world.events, world.network, second_node,
                [&cuts](const Command& words, ScriptedClient& client) -> ScriptedReply {
                    return is_write(words) && cuts ? client.reset() : serve(words, reset_of_all);
                });
    to.stop();
    ASSERT_TRUE(world.knows_the_map());
    EXPECT_EQ(world.check_charge("moving"), "PASSED");
    world.pass(100);
    EXPECT_GE(count_with(from.writes(), ":moving"), 1U);
    from.forget();
    world.pass(1'000);
    EXPECT_LE(count_with(from.writes(), ":moving"), 20U) << "it is tried now and then";
    EXPECT_EQ(world.check_charge("other"), "PASSED");
    EXPECT_TRUE(world.until([&from] { return count_with(from.writes(), ":other") == 1; }))
        << "charges of other slots of the node leave";

    to.start();
    EXPECT_TRUE(world.until([&to] { return !to.writes().empty(); }));
    world.pass(300);
    EXPECT_EQ(to.commands("asking").size(), 1U);
    EXPECT_EQ(to.commands("eval").size(), 1U) << "it arrives once, with its text";
    EXPECT_EQ(to.writes().size(), 1U);

    cuts = true;
    EXPECT_EQ(world.check_charge("moving"), "PASSED");
    EXPECT_TRUE(
        world.until([&world] { return world.logged("1 charges for .* were sent and not answered") == 1; }));
    world.pass(1'000);
    EXPECT_EQ(to.writes().size(), 2U) << "it is not sent again";
    EXPECT_EQ(world.logged("are in doubt"), 1U);
    EXPECT_EQ(world.logged("were dropped"), 0U);
}

/// A check that the node of before does not answer itself ends at once: it is not sent to and fro until
/// check_timeout.
TEST(ACheckThatIsLedNowhere, EndsAtOnce) {
    ClusterWorld world;
    const std::int64_t moving = key_slot(stored_key("moving"));
    std::string word = "ASK ";
    Scripted from(world.events, world.network, first_node,
                  node([] { return one_primary(first_node); },
                       [&word, moving](std::int64_t slot, const Command& words) -> ScriptedReply {
                           return slot == moving ? error(word + std::to_string(slot) + ' ' + second_node)
                                                 : serve(words, reset_of_all);
                       }));
    ASSERT_TRUE(world.knows_the_map());
    for (const char* each : {"ASK ", "MOVED "}) {
        word = each;
        for (int round = 0; round < 3; ++round) {
            from.forget();
            const ClientRequest& request = world.begin(RequestSetup("moving").under({"default"}));
            world.pass(50);
            EXPECT_EQ(outcome(request), "ERROR_ALLOWED") << word;
            EXPECT_LE(request.waited(), 10U) << word;
            EXPECT_LE(count_with(from.commands("hmget"), ":moving"), 2U) << word;
        }
    }
    EXPECT_EQ(world.check_charge("other"), "PASSED");
}

/// ASK names what is a replica by the map. It does not become the primary of all that its own primary serves.
TEST(AskThatNamesAReplica, IsNoNewPrimary) {
    ClusterWorld world;
    const std::int64_t leaves = key_slot("{leaves}");
    std::string other = "{a}";
    while ((key_slot(other) < 8192) == (leaves < 8192)) {
        ++other[1];
    }
    const auto map = [leaves] {
        const bool low = leaves < 8192;
        return cluster_slots(
            {{low ? 0 : 8192, low ? 8191 : last_slot, {node_at(first_node)}},
             {low ? 8192 : 0, low ? last_slot : 8191, {node_at(second_node), node_at(third_node)}}});
    };
    bool right = false;
    Scripted from(world.events, world.network, first_node,
                  node(map, [&right, leaves](std::int64_t slot, const Command& words) -> ScriptedReply {
                      return slot == leaves ? ask(slot, right ? second_node : third_node)
                                            : serve(words, reset_of_all);
                  }));
    Scripted to(world.events, world.network, second_node, node(map, serves));
    Scripted replica(world.events, world.network, third_node,
                     node(map, [](std::int64_t slot, const Command& words) -> ScriptedReply {
                         return words[0] == "hmget" ? hmget({}, {}) : moved(slot, second_node);
                     }));
    const auto charged = [&to](const std::string& key) {
        std::int64_t sum = 0;
        for (const auto& [stored, cost] : to.charged()) {
            sum += stored.find(key) != std::string::npos ? cost : 0;
        }
        return sum;
    };
    ASSERT_TRUE(world.knows_the_map(other));
    world.pass(100);
    to.forget();
    replica.forget();
    for (int i = 0; i < 50; ++i) {
        world.check_charge("{leaves}");
        EXPECT_EQ(world.check_charge(other), "PASSED");
        world.pass(5);
    }
    world.pass(100);
    EXPECT_EQ(charged(other), 50);
    EXPECT_EQ(replica.writes().size(), 0U) << "its replica gets no write";
    right = true;
    EXPECT_TRUE(world.until([&charged] { return charged("{leaves}") >= 50; }));
    EXPECT_TRUE(world.stop_all());
    EXPECT_EQ(charged("{leaves}"), 50) << "what waited arrives once";
}

/// A node that answers PING, READONLY and the like by MOVED or ASK sends nobody elsewhere with them.
TEST(AGreeting, IsNotRedirected) {
    for (const char* word : {"MOVED", "ASK"}) {
        ClusterWorld world;
        world.setup.stores.front().fresh = 0;
        bool left = false;
        Scripted odd(world.events, world.network, second_node, [word](const Command&, ScriptedClient&) {
            return error(std::string(word) + " 1 " + third_node);
        });
        Scripted stranger(world.events, world.network, third_node);
        Scripted good(
            world.events, world.network, first_node,
            node([&left] { return left ? one_primary(first_node) : one_primary(first_node, {second_node}); },
                 [&left](std::int64_t, const Command& words) -> ScriptedReply {
                     return words[0] == "hmget" && !left ? error("CLUSTERDOWN Hash slot not served")
                                                         : serve(words, reset_of_all);
                 }));
        EXPECT_TRUE(world.until([&] {
            world.check_charge("a");
            return world.logged("replica 10.0.0.2:7000 of \"main\" is down") > 0;
        })) << word;
        left = true;
        EXPECT_TRUE(world.knows_the_map()) << word;
        world.pass(10'000);
        EXPECT_EQ(world.check_charge("a"), "PASSED") << word;
        EXPECT_EQ(stranger.connections(), 0U) << word;
    }
}

/// While a primary is replaced, a map may give its slots to nobody. They stay with the old one, which
/// redirects: no reservation meets an error.
TEST(AMapWithoutOwner, LeavesSlotsWithTheOldOne) {
    enum class Known : unsigned char { before, nobody, next } state = Known::before;
    ClusterWorld world;
    world.setup.on_error = OnError::deny;
    const auto map = [&state] {
        const MapRange rest{8192, last_slot, {node_at(second_node)}};
        return state == Known::before ? cluster_slots({{0, 8191, {node_at(first_node)}}, rest})
               : state == Known::nobody
                   ? cluster_slots({rest})
                   : cluster_slots({{0, 8191, {node_at(third_node), node_at(first_node)}}, rest});
    };
    Scripted old(world.events, world.network, first_node,
                 node(map, [&state](std::int64_t slot, const Command& words) -> ScriptedReply {
                     return state == Known::before ? serve(words, reset_of_all) : moved(slot, third_node);
                 }));
    Scripted other(world.events, world.network, second_node, node(map, serves));
    Scripted next(world.events, world.network, third_node, node(map, serves));
    int tried = 0;
    const auto passes = [&] {
        std::string key;
        do {
            key = std::to_string(++tried);
        } while (key_slot(stored_key(key, "3600", "r")) >= 8192);
        return world.reserve(key) == "PASSED";
    };
    const auto maps = [&] {
        return old.commands("cluster").size() + other.commands("cluster").size() +
               next.commands("cluster").size();
    };
    ASSERT_TRUE(world.until(passes));
    state = Known::nobody;
    old.forget();
    const std::size_t before = maps();
    for (int i = 0; i < 500; ++i) {
        EXPECT_TRUE(passes()) << i;
        world.pass(10);
    }
    EXPECT_GE(maps(), before + 3);
    EXPECT_GT(old.writes().size(), 10U) << "the old one has redirected them";
    EXPECT_EQ(world.logged("no more: 10.0.0.1:7000|is down"), 0U) << "nobody tells of a primary that is gone";

    state = Known::next;
    EXPECT_TRUE(
        world.until([&] { return passes() && world.logged("primaries no more: 10.0.0.1:7000") == 1; }));
    EXPECT_TRUE(passes());
    old.forget();
    EXPECT_TRUE(passes());
    EXPECT_EQ(old.writes().size(), 0U);
}

/// Two nodes that send a command to each other for ever.
TEST(MovedInCircles, EndsAfterAFewRedirections) {
    ClusterWorld world;
    const std::int64_t looping = key_slot("loop");
    bool reads = true;
    bool writes = true;
    const auto at = [&](const char* to, const bool& always) {
        return node([] { return one_primary(first_node); },
                    [&, to](std::int64_t slot, const Command& words) -> ScriptedReply {
                        const bool loops = always || (words[0] == "hmget" ? reads : writes);
                        return slot == looping && loops ? moved(slot, to) : serve(words, reset_of_all);
                    });
    };
    const bool yes = true;
    const bool no = false;
    Scripted first(world.events, world.network, first_node, at(second_node, no));
    Scripted second(world.events, world.network, second_node, at(first_node, yes));
    const auto sent = [&](const std::string& text) {
        return count_with(first.commands(), text) + count_with(second.commands(), text);
    };
    ASSERT_TRUE(world.knows_the_map());
    for (const char* limit : {"default", "r"}) {
        first.forget();
        second.forget();
        const ClientRequest& request = world.begin(RequestSetup("{loop}").under({limit}));
        world.pass(50);
        EXPECT_EQ(outcome(request), "ERROR_ALLOWED") << limit;
        EXPECT_LE(request.waited(), 10U) << limit;
        EXPECT_LE(sent(std::string("rl:") + limit + "/3600:{loop}"), 6U) << limit;
        const_cast<ClientRequest&>(request).end();
    }
    reads = false;
    EXPECT_EQ(world.check_charge("{loop}"), "PASSED");
    world.pass(200);
    first.forget();
    second.forget();
    world.pass(1'000);
    EXPECT_LE(sent("{loop}"), 100U) << "charges are tried now and then";
    EXPECT_GE(sent("{loop}"), 2U);
    EXPECT_EQ(world.reserve("other"), "PASSED") << "other slots of the node are served";
    writes = false;
    first.forget();
    world.pass(20'000);
    EXPECT_EQ(first.charged()[stored_key("{loop}")], 2) << "what waited arrives once";
    EXPECT_EQ(first.charged()[stored_key("{loop}", "3600", "r")], 1);
    EXPECT_TRUE(world.stop_all());
    EXPECT_EQ(world.logged("are in doubt|were dropped"), 0U);
}

/// Nodes answer thousands of requests a second by MOVED: the map is asked for now and then, by one worker.
TEST(AStormOfMoved, AsksForTheMapNowAndThen) {
    ClusterWorld world;
    const auto at = [](const char* to) {
        return node([] { return one_primary(first_node); },
                    [to](std::int64_t slot, const Command&) -> ScriptedReply { return moved(slot, to); });
    };
    Scripted first(world.events, world.network, first_node, at(second_node));
    Scripted second(world.events, world.network, second_node, at(first_node));
    WorkerProcess& one = world.worker(0);
    WorkerProcess& other = world.worker(1);
    EXPECT_TRUE(world.until([&first] { return first.commands("cluster").size() == 1; }));
    first.forget();
    for (int i = 0; i < 2'000; ++i) {
        EXPECT_EQ(world.ask(RequestSetup(std::to_string(i % 20)).under({"r"}), i % 2 == 0 ? &one : &other),
                  "ERROR_ALLOWED");
        world.pass(2);
    }
    EXPECT_GT(first.writes().size() + second.writes().size(), 2'000U);
    // In some 7 s: the gaps are 0.1, 0.2, 0.4, 0.8 s, and then 1 s.
    EXPECT_LE(first.commands("cluster").size() + second.commands("cluster").size(), 12U);
    EXPECT_GE(first.commands("cluster").size() + second.commands("cluster").size(), 4U);
}

/// A redirection that answers a question of which nobody waits for the answer any more is not followed.
TEST(ARedirection, IsNotFollowedTooLate) {
    for (const char* limit : {"default", "r"}) {
        ClusterWorld world;
        world.setup.on_error = OnError::deny;
        world.setup.stores.front().check_timeout = 60;
        const auto map = [] {
            return cluster_slots(
                {{0, 8191, {node_at(first_node)}}, {8192, last_slot, {node_at(second_node)}}});
        };
        Scripted slow(world.events, world.network, first_node,
                      node(map, [](std::int64_t slot, const Command&) {
                          return hold("gate", moved(slot, second_node));
                      }));
        Scripted other(world.events, world.network, second_node, node(map, serves));
        std::string here;
        std::string there;
        for (int i = 1; i <= 100; ++i) {
            (key_slot(stored_key(std::to_string(i), "3600", limit)) < 8192 ? here : there) =
                std::to_string(i);
        }
        const auto request = [limit](const std::string& key) { return RequestSetup(key).under({limit}); };
        EXPECT_TRUE(world.until([&] { return world.ask(request(there)) == "PASSED"; })) << limit;
        other.forget();
        EXPECT_EQ(world.ask(request(here)), "ERROR_DENIED") << limit;
        EXPECT_GE(count_with(slow.commands(), ':' + here), 1U) << limit;
        slow.release("gate");
        world.pass(1);
        EXPECT_EQ(world.admitted(3, request(there)), 3U) << limit;
        world.pass(1'000);
        EXPECT_EQ(count_with(other.commands(), ':' + here), 0U) << limit;
    }
}

/// A slot has moved, and a replica does not know it yet: it sends reads to the primary of before. They are
/// answered, and the slot stays where it is.
TEST(AReplicaThatHasNotHeardOfAMove, ChangesNothing) {
    ClusterWorld world;
    world.setup.stores.front().fresh = 0;
    const std::int64_t slot = key_slot("{moved}");
    const auto map = [slot] {
        return cluster_slots({{0, slot - 1, {node_at(first_node)}},
                              {slot, slot, {node_at(second_node), node_at(third_node)}},
                              {slot + 1, last_slot, {node_at(first_node)}}});
    };
    bool held = false;
    const auto leading_to = [&held, slot](const char* to) -> Answer {
        return [&held, slot, to](std::int64_t asked, const Command& words) -> ScriptedReply {
            return asked != slot ? serve(words, reset_of_all)
                   : held        ? hold("gate", moved(slot, to))
                                 : moved(slot, to);
        };
    };
    Scripted before(world.events, world.network, first_node, node(map, leading_to(second_node)));
    Scripted now(world.events, world.network, second_node, node(map, serves));
    Scripted replica(world.events, world.network, third_node, node(map, leading_to(first_node)));
    EXPECT_TRUE(world.until(
        [&] { return world.check_charge("{moved}") == "PASSED" && !before.commands("hmget").empty(); }));
    world.pass(100);
    before.forget();
    now.forget();
    replica.forget();
    held = true;
    const ClientRequest& checked = world.begin(RequestSetup("{moved}").under({"default"}));
    world.pass(1);
    replica.release("gate");
    world.pass(1);
    ASSERT_EQ(before.commands("hmget").size(), 1U) << "the read is sent on";
    EXPECT_EQ(world.reserve("{moved}"), "PASSED");
    before.release("gate");
    world.pass(1);
    EXPECT_EQ(outcome(checked), "PASSED");
    const_cast<ClientRequest&>(checked).end();
    world.pass(100);
    EXPECT_GE(count_with(now.writes(), "default"), 1U) << "its charge";
    EXPECT_EQ(count_with(before.writes(), "{moved}"), 0U) << "the primary of before gets neither";
}

/// A node that is cut off goes on telling an old map. What MOVED says of a slot counts at once for the
/// worker that is told, and no such map undoes it; but it does not hold for ever.
TEST(AStaleMap, UndoesNoMove) {
    ClusterWorld world;
    const std::int64_t slot = key_slot("{moves}");
    bool has_replica = false;
    const auto at = [&](bool knows_replica) {
        return node(
            [&, knows_replica] {
                return knows_replica || has_replica ? one_primary(first_node, {third_node})
                                                    : one_primary(first_node);
            },
            [&](std::int64_t asked, const Command& words) -> ScriptedReply {
                if (asked != slot) {
                    return serve(words, reset_of_all);
                }
                has_replica = true;  // its map has news then: workers drop one that has none
                return moved(slot, second_node);
            });
    };
    Scripted stale(world.events, world.network, first_node, at(false));
    Scripted owner(world.events, world.network, second_node,
                   node([] { return one_primary(first_node); }, serves));
    Scripted replica(world.events, world.network, third_node, at(true));
    WorkerProcess& one = world.worker(0);
    WorkerProcess& other = world.worker(1);
    const auto ask_at = [&world](const std::string& key, WorkerProcess& worker) {
        return world.ask(RequestSetup(key).under({"default"}), &worker);
    };
    for (WorkerProcess* worker : {&one, &other}) {
        ASSERT_TRUE(world.until([&] { return ask_at("other", *worker) == "PASSED"; }));
    }
    const auto sent_there = [&] {
        return count_with(stale.commands(), "{moves}") + count_with(replica.commands(), "{moves}");
    };
    EXPECT_EQ(ask_at("{moves}a", one), "PASSED");
    EXPECT_EQ(ask_at("{moves}b", other), "PASSED");
    world.pass(50);
    EXPECT_EQ(owner.charged()[stored_key("{moves}a")], 1);
    EXPECT_EQ(owner.charged()[stored_key("{moves}b")], 1);
    EXPECT_EQ(sent_there(), 2U) << "each worker has sent one command to the node that had the slot";

    int keys = 0;
    EXPECT_TRUE(world.until([&] {
        ask_at("other" + std::to_string(++keys), one);
        ask_at("other" + std::to_string(keys), other);
        return replica.commands("readonly").size() == 2;
    })) << "all workers know the newer map";
    for (int i = 1; i <= 5; ++i) {
        EXPECT_EQ(ask_at("{moves}" + std::to_string(i), one), "PASSED");
        EXPECT_EQ(ask_at("{moves}" + std::to_string(i), other), "PASSED");
    }
    world.pass(50);
    EXPECT_EQ(owner.charged()[stored_key("{moves}5")], 2);
    EXPECT_EQ(sent_there(), 2U) << "no map of it has undone what it said itself";
    EXPECT_TRUE(world.until([&] {
        ask_at("{moves}c", one);
        return sent_there() > 2;
    })) << "the map counts again";
}

}  // namespace
}  // namespace rate_limit::world::redirections_test
