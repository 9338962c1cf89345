// Once a minute the log names a key that makes more than a fifth of the commands to a shard: its limit, its
// share, the shard, its id, and what helps there. All workers together decide which key that is.

#include <cinttypes>
#include <cstdio>
#include <deque>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "limiter/client_id.h"
#include "redis/keys/routes.h"
#include "t/limiter/one_machine.h"
#include "t/world/cluster.h"

namespace rate_limit::world::hot_key_log_test {
namespace {

LimitSetup many(const char* name, const char* mode = "charge_refund") {
    return {name, "1000000r/h", mode};
}

/// So many of a hundred requests are of this key and limit; `*`: each of another key. `own`: each worker has
/// a key of its own.
struct Part {
    int percent;
    std::string key;
    std::string limit;
    bool own = false;
};

struct Line {
    std::string limit;
    int percent;
    std::uint64_t commands;
    std::string shard;
    std::string id;
    std::string remedy;
};

class HotKeyWorld : public OneMachine {
public:
    using OneMachine::OneMachine;

    /// So many requests, in turn by the parts and by the workers that do not leave.
    void flood(std::size_t count, const std::vector<Part>& parts) {
        std::vector<int> due(parts.size());
        std::deque<ClientRequest*> open;
        std::vector<WorkerProcess*> staying;
        worker();
        for (const auto& each : machine().workers()) {
            if (!each->loop().leaving) {
                staying.push_back(each.get());
            }
        }
        for (std::size_t i = 0; i < count; ++i) {
            for (std::size_t p = 0; p < parts.size(); ++p) {
                due[p] += parts[p].percent;
            }
            const auto next =
                static_cast<std::size_t>(std::max_element(due.begin(), due.end()) - due.begin());
            due[next] -= 100;
            const Part& part = parts[next];
            const std::size_t at = i % staying.size();
            const std::string key = part.key == "*" ? std::to_string(++fresh_)
                                    : part.own      ? part.key + std::to_string(at)
                                                    : part.key;
            requests_.emplace_back(*staying[at], RequestSetup(key).under({part.limit}));
            requests_.back().begin();
            if (requests_.size() == 64) {
                end_all();
            }
        }
        end_all();
    }

    /// The rest of this minute passes, and the time in which workers tell of it.
    void end_minute() { pass(60'000 - at() % 60'000 + 5'000); }

    std::vector<Line> told() {
        const std::regex form(
            "rate limit \"(.*)\": one key makes (\\d+)% of the (\\d+) commands that this nginx sent in a "
            "minute to (?:shard|the nodes of) \"(.*)\" of \"main\", id ([0-9a-f]{16}): (.*)");
        std::vector<Line> all;
        for (const std::string& line : lines()) {
            std::smatch found;
            if (std::regex_search(line, found, form)) {
                all.push_back(
                    {found[1], std::stoi(found[2]), std::stoull(found[3]), found[4], found[5], found[6]});
            }
        }
        return all;
    }

    std::string id_of(const std::string& key, const std::string& limit) {
        char text[17];
        std::snprintf(text, sizeof text, "%016" PRIx64, client_id(machine().zone(), "main", limit, key));
        return text;
    }

private:
    void end_all() {
        pass(2);
        for (ClientRequest& request : requests_) {
            EXPECT_EQ(outcome(request), "PASSED");
            request.end();
        }
        requests_.clear();
    }

    std::deque<ClientRequest> requests_;
    int fresh_ = 0;
};

TEST(HotKeyLog, NamesAKeyWithMoreThanAFifthInEachMinute) {
    HotKeyWorld world(many("api"));
    world.flood(20'000, {{30, "hot", "api"}, {70, "*", "api"}});
    world.end_minute();
    const std::vector<Line> first = world.told();
    ASSERT_EQ(first.size(), 1U);
    EXPECT_EQ(first[0].limit, "api");
    EXPECT_EQ(first[0].shard, "a");
    EXPECT_EQ(first[0].id, world.id_of("hot", "api"));
    EXPECT_EQ(first[0].remedy, "mode=lease asks less");
    EXPECT_EQ(first[0].commands, 20'000U);
    // Five deviations of 1,250 commands that are looked at.
    EXPECT_NEAR(first[0].percent, 30, 7);

    world.flood(12'000, {{90, "hot", "api"}, {10, "*", "api"}});
    world.end_minute();
    ASSERT_EQ(world.told().size(), 2U);
    EXPECT_GE(world.told()[1].percent, 85) << "each minute by itself";
    world.flood(12'000, {{50, "another", "api"}, {50, "*", "api"}});
    world.end_minute();
    ASSERT_EQ(world.told().size(), 3U);
    EXPECT_EQ(world.told()[2].id, world.id_of("another", "api"));
}

TEST(HotKeyLog, NamesAPrimaryOfAClusterByItsAddress) {
    HotKeyWorld world(many("api"));
    StoreSetup& store = world.setup.stores.front();
    store.shards.clear();
    store.seeds = {Scenario::primary_address};
    Redis other(world.events, world.network, Scenario::replica_address);
    LostWrites lost;
    ReplicaSet first{{&world.primary}, lost};
    ReplicaSet second{{&other}, lost};
    Cluster cluster{{&first, &second}, 2};
    EXPECT_TRUE(world.until([&world] { return world.ask("first") == "PASSED"; }));
    world.end_minute();
    world.flood(20'000, {{60, "hot", "api"}, {40, "*", "api"}});
    world.end_minute();
    ASSERT_EQ(world.told().size(), 1U);
    const Line line = world.told().front();
    EXPECT_EQ(line.shard, cluster.owner_of(key_slot("rl:api/3600:hot")).primary().address());
    EXPECT_EQ(line.id, world.id_of("hot", "api"));
    EXPECT_NEAR(line.percent, 75, 7) << "half of the other keys are on this primary";
}

TEST(HotKeyLog, NamesNoneWithLessOrOfFewCommands) {
    HotKeyWorld world(many("api"));
    // One in 16 commands is looked at: the share is known to within 2.4%, in three deviations.
    world.flood(40'000, {{16, "warm", "api"}, {16, "luke", "api"}, {68, "*", "api"}});
    world.end_minute();
    EXPECT_EQ(world.told().size(), 0U);
    world.flood(9'900, {{100, "only", "api"}});
    world.end_minute();
    EXPECT_EQ(world.told().size(), 0U);
    world.flood(10'100, {{100, "only", "api"}});
    world.end_minute();
    EXPECT_EQ(world.told().size(), 1U);
}

/// Each worker has a key of its own with 30% of what it sends, which is 8% of all.
TEST(HotKeyLog, NamesWhatIsHotForAllWorkersTogether) {
    HotKeyWorld world(many("api", "check_charge"));
    world.setup.limits.push_back(many("own", "check_charge"));
    world.setup.stores.front().fresh = 0;
    world.setup.stores.front().shards.front().replicas = {Scenario::replica_address};
    Redis replica(world.events, world.network, Scenario::replica_address);
    world.primary.replicate_to(replica);
    world.worker(3);
    world.flood(40'000, {{40, "hot", "api"}, {30, "of", "own", true}, {30, "*", "api"}});
    world.end_minute();
    const std::vector<Line> told = world.told();
    ASSERT_EQ(told.size(), 1U);
    EXPECT_EQ(told[0].id, world.id_of("hot", "api"));
    EXPECT_GT(told[0].commands, 45'000U) << "reads and charges of all workers";
    EXPECT_NEAR(static_cast<double>(told[0].commands),
                static_cast<double>(world.primary.server().commands() + replica.server().commands()), 200);
}

TEST(HotKeyLog, SaysWhatHelpsThere) {
    HotKeyWorld world(many("api"));
    world.setup.limits.push_back({"burst", "1000000r/s", "charge_refund", 1'000'000});
    world.setup.limits.push_back({"lease", "1000000r/h", "lease", 0, "main", 1});
    world.flood(40'000, {{30, "hot", "api"}, {30, "hot", "burst"}, {30, "hot", "lease"}, {10, "*", "api"}});
    world.end_minute();
    std::vector<Line> told = world.told();
    ASSERT_EQ(told.size(), 3U);
    for (const Line& line : told) {
        EXPECT_EQ(line.id, world.id_of("hot", line.limit));
        EXPECT_EQ(line.remedy,
                  line.limit == "lease"
                      ? "it has mode=lease: a greater limit, or a key that tells clients apart, asks less"
                      : "mode=lease asks less");
    }
}

/// Requests keep eight workers, of which some would come before the new one; they know nothing of its limits.
TEST(HotKeyLog, IsOfWorkersThatStay) {
    HotKeyWorld world(many("before"));
    world.worker(7);
    for (std::size_t i = 0; i < 8; ++i) {
        world.begin("k", &world.worker(i));
    }
    world.pass(5);
    world.setup.limits = {many("api")};
    world.machine().configure(world.setup);
    world.reload();
    for (std::size_t minutes = 1; minutes <= 3; ++minutes) {
        world.flood(12'000, {{100, "hot", "api"}});
        world.end_minute();
        ASSERT_EQ(world.told().size(), minutes);
        EXPECT_EQ(world.told().back().id, world.id_of("hot", "api"));
    }
    EXPECT_EQ(world.end_leaving(), 8U);
}

TEST(HotKeyLog, CountsWhatWorkersOfBeforeAReloadHaveSent) {
    HotKeyWorld world(many("api"));
    world.setup.limits.push_back(many("gone"));
    world.worker(1);
    world.flood(20'000, {{40, "hot", "api"}, {40, "hot", "gone"}, {20, "*", "api"}});
    world.setup.limits.pop_back();
    world.machine().configure(world.setup);
    world.reload();
    EXPECT_TRUE(world.until([&world] { return world.end_leaving() == 0; }));
    world.flood(4'000, {{100, "hot", "api"}});
    world.end_minute();
    const std::vector<Line> told = world.told();
    ASSERT_EQ(told.size(), 1U) << "a limit that is configured no more is not named";
    EXPECT_EQ(told[0].id, world.id_of("hot", "api"));
    EXPECT_NEAR(static_cast<double>(told[0].commands), 24'000, 100);
    // Five deviations of 1,500 commands that are looked at.
    EXPECT_NEAR(told[0].percent, 50, 7);
}

/// `GetParam()`: bytes of the zone.
class RoomForHotKeys : public testing::TestWithParam<std::size_t> {};

TEST_P(RoomForHotKeys, IsNeededForALine) {
    HotKeyWorld world(many("api"));
    world.setup.zone_size = GetParam();
    world.flood(20'000, {{100, "hot", "api"}});
    world.end_minute();
    EXPECT_EQ(world.told().size(), GetParam() == Zone::least_size ? 0U : 1U);
}

INSTANTIATE_TEST_SUITE_P(Each, RoomForHotKeys, testing::Values(Zone::least_size, Zone::default_size));

}  // namespace
}  // namespace rate_limit::world::hot_key_log_test
