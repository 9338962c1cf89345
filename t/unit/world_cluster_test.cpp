#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "redis/keys/routes.h"
#include "t/unit/world_client.h"

namespace rate_limit::world::world_cluster_test {
namespace {

const ClusterNode a{"a", "10.0.0.1", 7001};
const ClusterNode replica_of_a{"c", "10.0.0.3", 7003};
const ClusterNode b{"b", "10.0.0.2", 7002};

/// Hash slots 0 to 8191 are a's, all others b's but for the last.
std::shared_ptr<const ClusterMap> map() {
    return std::make_shared<const ClusterMap>(
        ClusterMap{{{{8192, 16382}}, b, {}}, {{{0, 8191}}, a, {replica_of_a}}});
}

constexpr const char* of_a = "bar";  // hash slot 5061
constexpr const char* of_b = "foo";  // hash slot 12182

class WorldCluster : public ::testing::Test {
protected:
    WorldCluster() { at.server.state.cluster = ClusterView{"a", map()}; }

    ClusterView& view() { return *at.server.state.cluster; }
    std::string get(const char* key) { return client(std::string("GET ") + key); }
    std::string read_by_script(const char* key) {
        return client.send({"EVAL", "return redis.call('GET', KEYS[1])", "1", key});
    }

    ServerAt at;
    TestClient client{at.server};
};

TEST_F(WorldCluster, SaysWhoServesASlot) {
    ASSERT_EQ(key_slot(of_a), 5061);
    ASSERT_EQ(key_slot(of_b), 12182);
    EXPECT_EQ(get(of_a), "$-1");
    EXPECT_EQ(get(of_b), "-MOVED 12182 10.0.0.2:7002");
    EXPECT_EQ(read_by_script(of_b), "-MOVED 12182 10.0.0.2:7002");
    EXPECT_EQ(client("DEL bar foo"), "-CROSSSLOT Keys in request don't hash to the same slot");
    EXPECT_EQ(client("SELECT 1"), "-ERR SELECT is not allowed in cluster mode");
    EXPECT_EQ(client("PING"), "+PONG");
    EXPECT_EQ(client("CLUSTER SLOTS"),
              "*2 *4 :0 :8191 *4 $8 10.0.0.1 :7001 $1 a *0 *4 $8 10.0.0.3 :7003 $1 c *0 "
              "*3 :8192 :16382 *4 $8 10.0.0.2 :7002 $1 b *0");
}

TEST_F(WorldCluster, ServesWhatIsHereOfASlotThatLeaves) {
    client("SET bar v");
    view().migrating[5061] = b;
    EXPECT_EQ(get(of_a), "$1 v");
    EXPECT_EQ(client("DEL bar"), ":1");
    EXPECT_EQ(get(of_a), "-ASK 5061 10.0.0.2:7002");
    EXPECT_EQ(read_by_script(of_a), "-ASK 5061 10.0.0.2:7002");
    client("SET {bar}1 v");
    EXPECT_EQ(client("EXISTS bar {bar}1"), "-ASK 5061 10.0.0.2:7002");
}

TEST_F(WorldCluster, ServesASlotThatComesToThoseWhoAsk) {
    view().importing[12182] = b;
    EXPECT_EQ(get(of_b), "-MOVED 12182 10.0.0.2:7002");
    EXPECT_EQ(client("ASKING"), "+OK");
    EXPECT_EQ(client("SET foo v"), "+OK");
    EXPECT_EQ(get(of_b), "-MOVED 12182 10.0.0.2:7002") << "one command, and no more";
    client("ASKING");
    EXPECT_EQ(read_by_script(of_b), "$1 v");
    client("ASKING");
    EXPECT_EQ(client("EXISTS foo {foo}1"), "-TRYAGAIN Multiple keys request during rehashing of slot");
}

TEST_F(WorldCluster, LetsReplicasAnswerThoseWhoAreContentWithReading) {
    view().me = "c";
    at.server.state.role = ServerRole::replica;
    EXPECT_EQ(get(of_a), "-MOVED 5061 10.0.0.1:7001");
    EXPECT_EQ(client("READONLY"), "+OK");
    EXPECT_EQ(get(of_a), "$-1");
    EXPECT_EQ(read_by_script(of_a), "$-1");
    EXPECT_EQ(client("SET bar v"), "-MOVED 5061 10.0.0.1:7001");
    EXPECT_EQ(client.send({"EVAL", "return redis.pcall('SET', KEYS[1], 'v')", "1", of_a}),
              "-READONLY You can't write against a read only replica.");
    EXPECT_EQ(client("READWRITE"), "+OK");
    EXPECT_EQ(get(of_a), "-MOVED 5061 10.0.0.1:7001");
}

TEST_F(WorldCluster, RefusesWhereItIsDownOrUnsure) {
    view().unstable.insert(5061);
    EXPECT_EQ(get(of_a), "-TRYAGAIN Multiple keys request during rehashing of slot");
    view().unstable.clear();
    view().down = true;
    EXPECT_EQ(get(of_a), "-CLUSTERDOWN The cluster is down");
    view().reads_when_down = true;
    EXPECT_EQ(get(of_a), "$-1");
    EXPECT_EQ(client("SET bar v"), "-CLUSTERDOWN The cluster is down and only accepts read commands");
    view().down = false;
    view().map = std::make_shared<const ClusterMap>(ClusterMap{{{{0, 8191}}, a, {}}});
    EXPECT_EQ(get(of_b), "-CLUSTERDOWN Hash slot not served");
}

TEST_F(WorldCluster, KnowsNothingOfItWhereItIsNone) {
    at.server.state.cluster.reset();
    const std::string error = "-ERR This instance has cluster support disabled";
    EXPECT_EQ(client("CLUSTER SLOTS"), error);
    EXPECT_EQ(client("READONLY"), error);
    EXPECT_EQ(client("ASKING"), error);
    EXPECT_EQ(get(of_b), "$-1");
}

}  // namespace
}  // namespace rate_limit::world::world_cluster_test
