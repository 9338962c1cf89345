#include "core/topology/topology.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace rate_limit::topology_test {
namespace {

/// One group of a cluster, one of Sentinel, and one that has nothing.
Topology example() {
    Topology topology;
    topology.groups.push_back(
        {"", 0, {"10.0.0.1", 6379}, {{"::1", 6380}, {"replica.test", 65535}}, {{0, 100}, {200, 16383}}});
    topology.groups.push_back({"orders", UINT64_MAX, {"redis.test", 1}, {}, {}});
    topology.groups.emplace_back();
    topology.groups[1].unfit = {{"redis.test", 2}, {"redis.test", 3}};
    topology.groups.back().unclaimed_since = 5'000'000'000;
    return topology;
}

TEST(Endpoint, TextAndOrder) {
    EXPECT_EQ((Endpoint{"redis.test", 6379}.text()), "redis.test:6379");
    EXPECT_EQ((Endpoint{"127.0.0.1", 1}.text()), "127.0.0.1:1");
    EXPECT_EQ((Endpoint{"::1", 65535}.text()), "[::1]:65535");
    const std::vector<Endpoint> ascending = {{"", 0}, {"", 7}, {"a", 2}, {"a", 10}, {"a.b", 1}, {"b", 0}};
    for (std::size_t i = 0; i < ascending.size(); ++i) {
        for (std::size_t j = 0; j < ascending.size(); ++j) {
            EXPECT_EQ(ascending[i] < ascending[j], i < j);
            EXPECT_EQ(ascending[i] == ascending[j], i == j);
            EXPECT_EQ(ascending[i] != ascending[j], i != j);
        }
    }
}

TEST(Topology, FindsAGroupByItsName) {
    const Topology topology{{{"a", 1, {}, {}, {}}, {"b", 2, {}, {}, {}}, {"a", 3, {}, {}, {}}}};
    const auto epoch = [&topology](std::string_view name, std::size_t likely) {
        const Group* group = find_group(topology, name, likely);
        return group != nullptr ? group->epoch : 0;
    };
    EXPECT_EQ(epoch("a", 0), 1U);
    EXPECT_EQ(epoch("b", 0), 2U) << "another one stands there";
    EXPECT_EQ(epoch("a", 1), 1U);
    EXPECT_EQ(epoch("a", 2), 3U) << "of two it is the one that stands there";
    EXPECT_EQ(epoch("b", 3), 2U) << "nothing stands there";
    EXPECT_EQ(epoch("c", 0), 0U);
    EXPECT_EQ(epoch("", 0), 0U);
    EXPECT_EQ(find_group(Topology{}, "a", 0), nullptr);
}

TEST(Topology, IsEqualIfAllIsTheSame) {
    const Topology whole = example();
    EXPECT_TRUE(whole == example());
    EXPECT_FALSE(whole != example());
    std::vector<Topology> others(12, whole);
    others[0].groups.pop_back();
    others[1].groups.emplace_back();
    others[2].groups[0].name = "x";
    others[3].groups[1].epoch = 1;
    others[4].groups[0].primary.port = 1;
    others[5].groups[0].primary.host = "10.0.0.2";
    others[6].groups[0].replicas.pop_back();
    others[7].groups[0].replicas[0].port = 1;
    others[8].groups[0].slots[1].last = 16382;
    others[9].groups[0].slots[1].first = 201;
    others[10].groups[0].unclaimed_since = 1;
    others[11].groups[1].unfit.pop_back();
    for (std::size_t i = 0; i < others.size(); ++i) {
        EXPECT_TRUE(whole != others[i]) << i;
        EXPECT_FALSE(whole == others[i]) << i;
        EXPECT_NE(encode(whole), encode(others[i])) << i;
    }
}

TEST(Topology, ComesBackFromItsBytes) {
    std::vector<Topology> topologies = {{}, example()};
    for (const std::uint64_t epoch :
         {0ULL, 1ULL, 127ULL, 128ULL, 16383ULL, 16384ULL, 1ULL << 62, 1ULL << 63}) {
        topologies.push_back({{{"m", epoch, {"h", 1}, {}, {}}}});
    }
    topologies.push_back({{{std::string(300, 'n'), 0, {std::string("\0\xff\n", 3), 0}, {}, {{3, 9}}}}});
    for (const Topology& topology : topologies) {
        Topology read = example();
        ASSERT_TRUE(decode(encode(topology), read));
        EXPECT_TRUE(read == topology);
    }
}

TEST(Topology, BytesAreRefusedUnlessTheyAreWhole) {
    const std::string whole = encode(example());
    Topology topology;
    for (std::size_t size = 0; size < whole.size(); ++size) {
        topology = example();
        EXPECT_FALSE(decode(whole.substr(0, size), topology)) << size;
        EXPECT_TRUE(topology == Topology{}) << size;
    }
    topology = example();
    EXPECT_FALSE(decode(whole + '\0', topology));
    EXPECT_TRUE(topology == Topology{});
}

TEST(Topology, BytesThatNoTopologyHasAreRefused) {
    const std::string huge("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10);
    const std::string beyond("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10);
    const std::string start("\3\1", 2);
    const std::string group("\0\0\0\0\0\0\0\0\0", 9);
    Topology topology;
    ASSERT_TRUE(decode(start + group, topology))
        << "no name, no host, no replica, no slot, claimed, none unfit";
    const auto with_slots = [&](const char* first_and_last) {
        return start + group.substr(0, 6) + '\1' + std::string(first_and_last, 4) + group.substr(7);
    };
    EXPECT_TRUE(decode(with_slots("\0\0\xff\x3f"), topology));
    for (const std::string& bytes : {
             "\2" + start.substr(1) + group,                           // another format
             "\3" + huge,                                              // that many groups
             "\3" + std::string("\x81\0", 2) + group,                  // a number with a byte too many
             start + huge,                                             // a name of that length
             start + std::string(1, '\0') + beyond + group.substr(2),  // an epoch of more than 64 bits
             start + std::string(1, '\0') + huge.substr(0, 9),         // an epoch without an end
             start + group.substr(0, 5) + huge + group,                // that many replicas
             start + group.substr(0, 6) + huge + group,                // that many slots
             start + group.substr(0, 7) + beyond,                      // a time of more than 64 bits
             start + group.substr(0, 8) + huge,                        // that many unfit replicas
             with_slots("\0\0\0\x40"),                                 // a slot that no cluster has
             with_slots("\1\0\0\0"),                                   // slots from the last to the first
         }) {
        EXPECT_FALSE(decode(bytes, topology)) << testing::PrintToString(bytes);
        EXPECT_TRUE(topology == Topology{});
    }
}

TEST(Topology, OfALargeClusterIsSmall) {
    Topology topology;
    topology.groups.resize(500);
    for (std::size_t i = 0; i < topology.groups.size(); ++i) {
        const std::string host = std::string(250, 'h') + std::to_string(100 + i);
        topology.groups[i].primary = {host, 6379};
        topology.groups[i].replicas = {{host, 6380}};
    }
    for (std::uint16_t slot = 0; slot < 16384; ++slot) {
        topology.groups[slot % 500].slots.push_back({slot, slot});
    }
    const std::string bytes = encode(topology);
    EXPECT_LT(bytes.size(), 512U * 1024);
    Topology read;
    EXPECT_TRUE(decode(bytes, read));
    EXPECT_TRUE(read == topology);
}

}  // namespace
}  // namespace rate_limit::topology_test
