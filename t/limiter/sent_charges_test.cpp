// When charges leave, in which order and how many at a time; and what is told of those that are lost.

#include <map>
#include <string>
#include <vector>

#include "t/limiter/checked.h"
#include "t/limiter/one_machine.h"

namespace rate_limit::world::sent_charges_test {
namespace {

constexpr Millis reset_of_all = Loop::usual_wall_clock + 1'800'000;

/// Charges of many windows that waited are delivered completely, one first, then at most 200 at a time.
TEST(ChargesThatWaited, LeaveInBatches) {
    constexpr int each = 50;
    constexpr int clients = 100;
    Scenario world({"reserved", "99r/h", "charge_refund"}, 30'000);
    world.setup.zone_size = std::size_t{10} << 20;
    world.setup.stores.front().shards.front().replicas = {Scenario::replica_address};
    std::vector<std::string> names;
    for (int i = 0; i < each; ++i) {
        names.push_back("n" + std::to_string(i));
        world.setup.limits.push_back({names.back(), "99r/h"});
    }
    bool free = false;
    bool probed = false;
    Scripted replica(world.events, world.network, Scenario::replica_address, reading({}, {}));
    Scripted primary(world.events, world.network, Scenario::primary_address,
                     [&](const Command& words, ScriptedClient&) -> ScriptedReply {
                         if (!is_write(words)) {
                             return fallback(words);
                         }
                         if (words[3].find(":marker") != std::string::npos) {
                             return integers({1, 1, reset_of_all});
                         }
                         const std::string taken = integers({1, reset_of_all});
                         return free || !std::exchange(probed, true) ? ScriptedReply(taken)
                                                                     : hold("gate", taken);
                     });
    primary.stop();
    for (int i = 0; i < 2 * clients; ++i) {
        EXPECT_EQ(world.ask(RequestSetup(std::to_string(i % clients)).under(names)), "PASSED");
    }
    primary.start();
    ASSERT_TRUE(world.until([&] { return primary.writes().size() >= 201; }));
    // Whatever was sent before this reservation arrives before it.
    const ClientRequest& marker = world.begin(RequestSetup("marker").under({"reserved"}));
    world.pass(5'000);
    EXPECT_EQ(primary.writes().size(), 202U) << "the first batch is answered before the next is sent";
    free = true;
    primary.release("gate");
    world.pass(60'000);
    EXPECT_TRUE(marker.is_admitted());
    EXPECT_EQ(primary.writes().size(), static_cast<std::size_t>(each * clients + 1)) << "each window once";
    for (const auto& [key, cost] : primary.charged()) {
        if (key.find("marker") == std::string::npos) {
            EXPECT_EQ(cost, 2) << key << " is charged in full";
        }
    }
    EXPECT_TRUE(world.stop_all());
    EXPECT_EQ(world.logged("does not serve|are in doubt|were dropped|are lost"), 0U);
}

/// A queue of charges for a window leaves before the primary is asked about that window, even while another
/// batch is not answered.
class QueuedCharges : public testing::Test {
protected:
    QueuedCharges() {
        world.setup.stores.front().fresh = 3'600'000;
        world.setup.limits.push_back({"one", "1r/h", "charge_refund"});
        EXPECT_EQ(world.ask(RequestSetup("first").under({"default"})), "PASSED");
        world.let_connections_age();
        EXPECT_EQ(world.ask(RequestSetup("slow").under({"default"})), "PASSED");
        EXPECT_EQ(world.ask(RequestSetup("c").under({"default"})), "PASSED");
        world.pass(10);
    }

    ScriptedReply answer(const Command& words) {
        const std::string what = name(words);
        const std::string bytes = words[0] == "hmget" ? hmget(1, reset_of_all)
                                  : what == "hincrby" ? integer(2)
                                  : what == "reserve" ? integers({1, 1, reset_of_all})
                                  : is_write(words)   ? integers({0, 0})
                                                      : fallback(words);
        return slow && is_write(words) &&
                       words[words[0] == "hincrby" ? 1 : 3].find(":slow") != std::string::npos
                   ? hold("gate", bytes)
                   : ScriptedReply(bytes);
    }

    static std::string name(const Command& words) {
        return words[0] != "evalsha" ? words[0]
               : words.size() == 9   ? "refund"
               : words.size() == 8   ? "charge"
               : words.size() == 10  ? "reserve"
                                     : "?";
    }

    /// The commands about this key, in order.
    std::vector<std::string> commands(const std::string& key) const {
        std::vector<std::string> names;
        for (const Command& words : redis.commands()) {
            const bool of_key = std::any_of(words.begin(), words.end(), [&key](const std::string& word) {
                return word.size() > key.size() && word.substr(word.size() - key.size() - 1) == ":" + key;
            });
            if (of_key) {
                names.push_back(name(words));
            }
        }
        return names;
    }

    /// From now on a batch is under way; what is charged after that is queued.
    void begin_batch() {
        slow = true;
        redis.forget();
        EXPECT_EQ(world.ask(RequestSetup("slow").under({"default"})), "PASSED");
        world.pass(1);
        ASSERT_EQ(commands("slow"), (std::vector<std::string>{"hincrby"}));
    }

    Scenario world{{"default", "5r/h"}, 9'000};
    bool slow = false;
    Scripted redis{world.events, world.network, Scenario::primary_address,
                   [this](const Command& words, ScriptedClient&) { return answer(words); }};
};

TEST_F(QueuedCharges, LeaveBeforeTheNextReservation) {
    const std::vector<std::string> others = {"o1", "o2", "o3", "o4", "o5", "o6", "o7", "o8"};
    const auto ask_others = [&] {
        for (const std::string& other : others) {
            EXPECT_EQ(world.ask(RequestSetup(other).under({"default"})), "PASSED");
        }
    };
    ask_others();
    world.pass(10);
    ClientRequest& held = world.begin(RequestSetup("r").under({"one"}));
    world.pass(1);
    ASSERT_TRUE(held.is_admitted());
    begin_batch();
    ask_others();
    held.end(true);
    const ClientRequest& next = world.begin(RequestSetup("r").under({"one"}));
    world.pass(1);
    EXPECT_EQ(commands("r"), (std::vector<std::string>{"refund", "reserve"}));
    for (const std::string& other : others) {
        EXPECT_EQ(commands(other), std::vector<std::string>{}) << "others stay queued";
    }
    redis.release("gate");
    world.pass(1);
    EXPECT_TRUE(next.is_admitted());
}

TEST_F(QueuedCharges, LeaveBeforeTheQuestionWhetherTheLimitIsReached) {
    begin_batch();
    EXPECT_EQ(world.admitted(3, RequestSetup("c").under({"default"})), 3U);
    EXPECT_EQ(commands("c"), std::vector<std::string>{}) << "its charges are queued";
    world.worker().loop().wall_clock += 60'000;  // they seem to be lost
    const ClientRequest& last = world.begin(RequestSetup("c").under({"default"}));
    world.pass(1);
    EXPECT_EQ(commands("c"), (std::vector<std::string>{"hincrby", "hmget"}));
    redis.release("gate");
    world.pass(1);
    EXPECT_TRUE(last.is_admitted());
}

TEST(ChargesThatAreQueued, LeaveBeforeTheirWorkerDoes) {
    for (const Micros each_way : {100, 5'000, 40'000}) {
        OneMachine world({"default", "1000r/h"});
        world.primary.link().there = world.primary.link().back = each_way;
        WorkerProcess& worker = world.worker();
        world.pass(1'000);
        for (int i = 0; i < 20; ++i) {
            world.begin("k");
        }
        EXPECT_TRUE(world.stop(worker)) << each_way;
        EXPECT_EQ(world.primary.used(stored_key("k")), 20) << each_way;
    }
}

/// The sum of what lines say was lost in this way.
std::size_t told(const Scenario& world, const std::string& what) {
    std::size_t sum = 0;
    for (const std::string& line : world.lines()) {
        const std::regex pattern("rate limit: (\\d+) charges for primary \\S+ of \"main\" were " + what);
        std::smatch found;
        sum += std::regex_search(line, found, pattern) ? std::stoul(found[1]) : 0;
    }
    return sum;
}

/// The number that a line a second holds back is told a second later, and when the worker ends: the numbers
/// add up.
TEST(Losses, AreAllTold) {
    Scenario world({"default", "1000r/h"}, 9'000);
    world.setup.stores.front().shards.front().replicas = {Scenario::replica_address};
    bool silent = false;
    Scripted replica(world.events, world.network, Scenario::replica_address, reading(7, reset_of_all));
    Scripted primary(world.events, world.network, Scenario::primary_address,
                     [&silent](const Command& words, ScriptedClient&) -> ScriptedReply {
                         const bool plain = words[0] == "hincrby";
                         return !is_write(words) ? fallback(words)
                                : silent ? hold("gate", plain ? integer(8) : integers({8, reset_of_all}))
                                         : ScriptedReply(error("ERR what"));
                     });
    EXPECT_EQ(world.admitted(40, "k"), 40U);
    world.pass(1'100);
    EXPECT_EQ(told(world, "dropped"), 40U);
    EXPECT_EQ(world.logged("were dropped: another error.*\\(40 dropped so far\\)"), 1U);
    EXPECT_EQ(world.logged("were dropped"), 2U);

    silent = true;
    primary.forget();
    std::int64_t doubt = 0;
    for (int round = 0; round < 2; ++round) {
        EXPECT_EQ(world.admitted(7, "k"), 7U);
        world.pass(10);
        doubt = primary.charged()[stored_key("k")];
        primary.drop();
        world.pass(10);
    }
    EXPECT_TRUE(world.until([&primary] { return primary.charged()[stored_key("k")] == 14; }));
    silent = false;
    primary.release("gate");
    EXPECT_TRUE(world.stop_all());
    EXPECT_EQ(told(world, "sent and not answered: they are in doubt"), static_cast<std::size_t>(doubt));
    EXPECT_EQ(world.logged("\\(" + std::to_string(doubt) + " in doubt so far\\)"), 1U);
}

}  // namespace
}  // namespace rate_limit::world::sent_charges_test
