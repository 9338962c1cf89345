#include "redis/topology/topology_replies.h"

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "raw_tree.h"

namespace rate_limit::topology_replies_test {
namespace {

const Endpoint asked{"10.0.0.9", 7009};

std::string bulk(std::string_view text) {
    return "$" + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n";
}

std::string integer(std::int64_t number) {
    return ":" + std::to_string(number) + "\r\n";
}

std::string array(const std::vector<std::string>& elements) {
    std::string bytes = "*" + std::to_string(elements.size()) + "\r\n";
    for (const std::string& element : elements) {
        bytes += element;
    }
    return bytes;
}

/// A node as Redis 7 names it.
std::string node(const std::string& host, std::int64_t port) {
    return array({bulk(host), integer(port), bulk("id of " + host + std::to_string(port)), array({})});
}

std::string line(std::int64_t first, std::int64_t last, const std::vector<std::string>& nodes) {
    std::vector<std::string> elements = {integer(first), integer(last)};
    elements.insert(elements.end(), nodes.begin(), nodes.end());
    return array(elements);
}

/// `10.0.0.1:7001 <- 10.0.0.4:7004: 0-5460 5462` for each group, one a line.
std::string text_of(const Topology& topology) {
    std::string text;
    for (const Group& group : topology.groups) {
        text += group.name + group.primary.text() + (group.replicas.empty() ? "" : " <-");
        for (const Endpoint& replica : group.replicas) {
            text += ' ' + replica.text();
        }
        text += ':';
        for (const SlotRange& range : group.slots) {
            text += ' ' + std::to_string(range.first);
            text += range.first == range.last ? "" : '-' + std::to_string(range.last);
        }
        text += group.epoch == 0 ? "\n" : " with an epoch\n";
    }
    return text;
}

/// `without_host` and `without_port`: how many nodes are to be left out.
std::string slots_of(const std::string& bytes, std::size_t without_host = 0, const Endpoint& told_by = asked,
                     std::size_t without_port = 0) {
    Topology topology;
    topology.groups.resize(3);
    LeftOut left_out{77, 77};
    if (!read_cluster_slots(*RawTree(bytes), told_by, topology, &left_out)) {
        return topology.groups.empty() ? "refused" : "refused, and not emptied";
    }
    EXPECT_EQ(left_out.without_host, without_host) << bytes;
    EXPECT_EQ(left_out.without_port, without_port) << bytes;
    return text_of(topology);
}

TEST(ClusterSlots, OneGroupForEachPrimary) {
    const std::string a = node("10.0.0.1", 7001);
    const std::string b = node("redis-2.test", 7002);
    const std::string c = node("::1", 7003);
    const std::string d = node("10.0.0.1", 7004);
    const std::string whole =
        "10.0.0.1:7001 <- 10.0.0.1:7004 [::1]:7003: 0-5460 10923-16383\nredis-2.test:7002: 5461-10922\n";
    EXPECT_EQ(slots_of(array({line(0, 5460, {a, c, d}), line(5461, 10922, {b}), line(10923, 16383, {a, d})})),
              whole);
    EXPECT_EQ(
        slots_of(array({line(10923, 16383, {a, d, d}), line(5461, 10922, {b}), line(0, 5460, {a, c, d})})),
        whole)
        << "in another order";
    EXPECT_EQ(
        slots_of(array({line(0, 100, {a}), line(102, 200, {a}), line(101, 101, {a}), line(201, 201, {b})})),
        "10.0.0.1:7001: 0-200\nredis-2.test:7002: 201\n");
    EXPECT_EQ(
        slots_of(array({line(0, 1, {a, b}), line(2, 3, {d, b}), line(4, 5, {a, b}), line(6, 7, {a, c}),
                        line(8, 8, {d})})),
        "10.0.0.1:7001 <- [::1]:7003 redis-2.test:7002: 0-1 4-7\n10.0.0.1:7004 <- redis-2.test:7002: 2-3 "
        "8\n")
        << "primaries that differ in their port alone, and replicas of some of their lines";
    EXPECT_EQ(slots_of(array({})), "") << "no slots are assigned";
    EXPECT_EQ(slots_of(array({line(7, 7, {a, a})})), "10.0.0.1:7001: 7\n") << "nobody follows itself";
}

TEST(ClusterSlots, OldAndNewMetadataAreSkipped) {
    const std::string old = array({bulk("10.0.0.1"), integer(1)});
    const std::string new_one =
        array({bulk("10.0.0.2"), integer(2), bulk("id"),
               array({bulk("hostname"), bulk("host.test"), bulk("x"), array({})}), integer(5)});
    EXPECT_EQ(slots_of(array({line(0, 1, {old, new_one})})), "10.0.0.1:1 <- 10.0.0.2:2: 0-1\n");
}

TEST(ClusterSlots, ANodeWithoutAHostHasThatOfTheNodeAsked) {
    const std::string nil = array({"$-1\r\n", integer(7001), bulk("a")});
    const std::string empty = array({bulk(""), integer(7002), bulk("b")});
    EXPECT_EQ(slots_of(array({line(0, 9, {nil, empty})})), "10.0.0.9:7001 <- 10.0.0.9:7002: 0-9\n");
    EXPECT_EQ(slots_of(array({line(0, 9, {node("a", 1), nil, empty})}), 2, Endpoint{}), "a:1: 0-9\n")
        << "on a unix socket that node has no host";
}

TEST(ClusterSlots, ANodeThatIsNotKnownIsLeftOutAndCounted) {
    const std::string a = node("a", 1);
    const std::string b = node("b", 2);
    const auto unknown = [](const std::string& id) { return array({bulk("?"), integer(6379), bulk(id)}); };
    EXPECT_EQ(slots_of(array({line(0, 9, {a, unknown("x"), b})}), 1), "a:1 <- b:2: 0-9\n");
    EXPECT_EQ(slots_of(array({line(0, 9, {unknown("x"), b}), line(10, 19, {a}), line(20, 29, {unknown("x")}),
                              line(30, 39, {unknown("y"), unknown("z")})}),
                       3),
              "a:1: 10-19\n");
    EXPECT_EQ(slots_of(array({line(0, 9, {a, node("b", 0), unknown("x")})}), 1, asked, 1), "a:1: 0-9\n")
        << "it has no port of this kind";
    EXPECT_EQ(slots_of(array({line(0, 9, {unknown("x")}), line(5, 6, {a})})), "refused")
        << "they overlap all the same";
    const std::string nobody = array({bulk("?"), integer(6379)});
    EXPECT_EQ(slots_of(array({line(0, 9, {nobody, nobody})}), 1), "");
}

TEST(ClusterSlots, WhatIsNoAnswerIsRefused) {
    const std::string a = node("a", 1);
    const std::string b = node("b", 2);
    for (const std::string& bytes : {
             std::string("-ERR This instance has cluster support disabled\r\n"),
             std::string("+OK\r\n"),
             std::string("$-1\r\n"),
             std::string("*-1\r\n"),
             std::string("*1\r\n"),
             integer(5),
             bulk("0 5460"),
             array({integer(0)}),
             array({array({})}),
             array({line(0, 9, {})}),
             array({array({bulk("0"), bulk("9"), a})}),
             array({array({integer(0), bulk("9"), a})}),
             array({line(0, 9, {bulk("a")})}),
             array({line(0, 9, {array({bulk("a")})})}),
             array({line(0, 9, {array({})})}),
             array({line(0, 9, {array({bulk("a"), bulk("1")})})}),
             array({line(0, 9, {array({integer(1), integer(1)})})}),
             array({line(0, 9, {array({"-ERR x\r\n", integer(1)})})}),
             array({line(0, 9, {array({array({}), integer(1)})})}),
             array({line(0, 9, {a, bulk("b")})}),
             array({line(0, 9, {a, array({bulk("b"), integer(65536)})})}),
             array({line(0, 9, {a, array({bulk("b"), integer(-1)})})}),
             array({line(0, 9, {array({bulk("a b"), integer(1)})})}),
             array({line(0, 9, {array({bulk(std::string(256, 'a')), integer(1)})})}),
             array({line(-1, 9, {a})}),
             array({line(0, 16384, {a})}),
             array({line(65536, 65537, {a})}),
             array({line(9, 0, {a})}),
             array({line(0, 9, {a}), line(9, 10, {b})}),
             array({line(0, 9, {a}), line(9, 10, {a})}),
             array({line(0, 9, {a}), line(3, 4, {b})}),
             array({line(3, 4, {a}), line(0, 9, {b})}),
             array({line(0, 9, {a}), integer(1)}),
             array({line(0, 9, {a}), "%0\r\n"}),
         }) {
        EXPECT_EQ(slots_of(bytes), "refused") << bytes;
    }
}

TEST(ClusterSlots, OfAFullyFragmentedCluster) {
    std::vector<std::string> lines;
    for (std::int64_t slot = 0; slot < 16384; ++slot) {
        lines.push_back(
            line(slot, slot,
                 {node("a" + std::to_string(slot % 500), 1), node("b" + std::to_string(slot % 500), 2)}));
    }
    Topology topology;
    ASSERT_TRUE(read_cluster_slots(*RawTree(array(lines)), asked, topology));
    ASSERT_EQ(topology.groups.size(), 500U);
    std::size_t ranges = 0;
    for (const Group& group : topology.groups) {
        EXPECT_EQ(group.replicas.size(), 1U);
        EXPECT_LE(group.replicas.capacity(), 2U) << "nodes that many lines name are read once";
        ranges += group.slots.size();
    }
    EXPECT_EQ(ranges, 16384U);
}

/// Nodes without ids, on one host, differ in their ports alone.
TEST(ClusterSlots, OfAFragmentedClusterOnOneHost) {
    const auto port = [](std::int64_t number) { return array({bulk("10.0.0.1"), integer(number)}); };
    std::vector<std::string> lines;
    for (std::int64_t slot = 0; slot < 16384; ++slot) {
        const std::int64_t primary = 7000 + 2 * (slot % 500);
        lines.push_back(line(slot, slot, {port(primary), port(primary + 1)}));
    }
    Topology topology;
    ASSERT_TRUE(read_cluster_slots(*RawTree(array(lines)), asked, topology));
    ASSERT_EQ(topology.groups.size(), 500U);
    for (const Group& group : topology.groups) {
        EXPECT_EQ(group.replicas.size(), 1U);
        EXPECT_LE(group.replicas.capacity(), 2U) << "nodes that many lines name are read once";
    }
}

/// 8 bytes that the usual std::hash of texts turns into `number` before it mixes them with those in front.
std::string hashed_as(std::uint64_t number) {
    constexpr std::uint64_t factor = 0xc6a4a7935bd1e995;
    std::uint64_t inverse = factor;
    for (int i = 0; i < 6; ++i) {
        inverse *= 2 - factor * inverse;
    }
    number *= inverse;
    number = (number ^ number >> 47U) * inverse;
    return {reinterpret_cast<const char*>(&number), sizeof(number)};
}

/// 2^14 ids; where they `collide`, all have the same hash behind a text of 8 bytes.
std::string id_of(unsigned number, bool collide) {
    std::string id;
    for (unsigned pair = 0; pair < 14; ++pair) {
        for (unsigned half = 0; half < 2; ++half) {
            const std::uint64_t changed = collide ? std::uint64_t{1} << 63U : half;
            id += hashed_as(2 * pair + 7 + (number >> pair & 1U) * changed);
        }
    }
    return id;
}

/// Milliseconds of this thread to read a map of 16,384 nodes, at best.
double time_to_read(bool collide) {
    std::vector<std::string> lines;
    for (unsigned slot = 0; slot < 16384; ++slot) {
        lines.push_back(
            line(slot, slot, {array({bulk("10.0.0.1"), integer(7000), bulk(id_of(slot, collide))})}));
    }
    const RawTree tree(array(lines));
    double best = 1e9;
    for (int i = 0; i < 3; ++i) {
        Topology topology;
        const std::clock_t begin = std::clock();
        EXPECT_TRUE(read_cluster_slots(*tree, asked, topology));
        best = std::min(best, 1e3 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
    }
    return best;
}

/// A hostile server makes nobody wait for its map.
TEST(ClusterSlots, OfChosenIdsAreReadInTime) {
    const std::hash<std::string_view> hash;
    if (hash("10.0.0.1" + id_of(1, true)) != hash("10.0.0.1" + id_of(77, true))) {
        GTEST_SKIP() << "this library hashes in another way";
    }
    EXPECT_LE(time_to_read(true), 5 * time_to_read(false));
}

using Fields = std::vector<std::pair<std::string, std::string>>;

std::string fields(const Fields& named) {
    std::vector<std::string> words;
    for (const auto& [name, value] : named) {
        words.insert(words.end(), {bulk(name), bulk(value)});
    }
    return array(words);
}

/// The fields with some of them changed, added, or, with the value "-", left out.
std::string changed(Fields all, const Fields& others) {
    for (const auto& [name, value] : others) {
        const auto has_name = [name = name](const auto& field) { return field.first == name; };
        all.erase(std::remove_if(all.begin(), all.end(), has_name), all.end());
        if (value != "-") {
            all.emplace_back(name, value);
        }
    }
    return fields(all);
}

/// A primary as Redis 7.0 describes it.
const Fields a_master = {{"name", "mymaster"},  {"ip", "127.0.0.1"}, {"port", "6379"},
                         {"runid", "f0"},       {"flags", "master"}, {"role-reported", "master"},
                         {"config-epoch", "3"}, {"num-slaves", "2"}, {"num-other-sentinels", "4"},
                         {"quorum", "3"}};

std::string master_of(const std::string& bytes) {
    SentinelMaster master;
    if (!read_sentinel_master(*RawTree(bytes), master)) {
        return "refused";
    }
    return master.address.text() + " epoch " + std::to_string(master.config_epoch) +
           (master.failing_over ? " failing over" : "") + ", " + std::to_string(master.sentinels) +
           " sentinels";
}

TEST(SentinelMaster, IsRead) {
    const std::string counts = ", 5 sentinels";
    const std::pair<Fields, std::string> cases[] = {
        {{}, "127.0.0.1:6379 epoch 3" + counts},
        {{{"ip", "redis.test"}, {"port", "65535"}}, "redis.test:65535 epoch 3" + counts},
        {{{"ip", "::1"}, {"config-epoch", "18446744073709551615"}},
         "[::1]:6379 epoch 18446744073709551615" + counts},
        {{{"flags", "s_down,master"}}, "127.0.0.1:6379 epoch 3" + counts},
        {{{"flags", "master,o_down,disconnected"}}, "127.0.0.1:6379 epoch 3" + counts},
        {{{"flags", "master,failover_in_progress"}}, "127.0.0.1:6379 epoch 3 failing over" + counts},
        {{{"flags", "master,xs_down,o_downs"}}, "127.0.0.1:6379 epoch 3" + counts},
        {{{"num-other-sentinels", "-"}}, "127.0.0.1:6379 epoch 3, 1 sentinels"},
        {{{"num-other-sentinels", "3x"}}, "127.0.0.1:6379 epoch 3, 1 sentinels"},
        {{{"num-other-sentinels", "4294967295"}}, "127.0.0.1:6379 epoch 3, 1 sentinels"},
    };
    for (const auto& [others, text] : cases) {
        EXPECT_EQ(master_of(changed(a_master, others)), text);
    }
}

TEST(SentinelMaster, WhatIsNoAnswerIsRefused) {
    for (const Fields& others : {
             Fields{{"ip", "-"}},
             Fields{{"port", "-"}},
             Fields{{"flags", "-"}},
             Fields{{"config-epoch", "-"}},
             Fields{{"ip", ""}},
             Fields{{"ip", "?"}},
             Fields{{"ip", "0.0.0.0"}},
             Fields{{"ip", "::"}},
             Fields{{"ip", "a b"}},
             Fields{{"port", "0"}},
             Fields{{"port", "65536"}},
             Fields{{"port", "-5"}},
             Fields{{"port", "+5"}},
             Fields{{"port", "5 "}},
             Fields{{"config-epoch", "-1"}},
             Fields{{"config-epoch", "x"}},
             Fields{{"config-epoch", "18446744073709551616"}},
         }) {
        EXPECT_EQ(master_of(changed(a_master, others)), "refused")
            << others[0].first << ' ' << others[0].second;
    }
    for (const std::string& bytes :
         {std::string("-ERR No such master with that name\r\n"), std::string("*-1\r\n"),
          std::string("*0\r\n"), bulk("ip"), array({bulk("ip")}), array({fields(a_master)}),
          array({bulk("ip"), integer(5)})}) {
        EXPECT_EQ(master_of(bytes), "refused") << bytes;
    }
}

const Fields a_replica = {{"name", "127.0.0.1:6380"}, {"ip", "127.0.0.1"},
                          {"port", "6380"},           {"flags", "slave"},
                          {"role-reported", "slave"}, {"master-link-status", "ok"},
                          {"slave-priority", "100"},  {"replica-announced", "1"}};

std::string text_of(const std::vector<Endpoint>& endpoints) {
    std::string text;
    for (const Endpoint& endpoint : endpoints) {
        text += (text.empty() ? "" : " ") + endpoint.text();
    }
    return text;
}

std::string replicas_of(const std::string& bytes) {
    SentinelReplicas replicas{{{"old", 1}}, {{"older", 1}}};
    if (!read_sentinel_replicas(*RawTree(bytes), replicas)) {
        return replicas.fit.empty() && replicas.unfit.empty() ? "refused" : "refused, and not emptied";
    }
    return text_of(replicas.fit) + (replicas.unfit.empty() ? "" : " unfit " + text_of(replicas.unfit));
}

std::string peers_of(const std::string& bytes) {
    std::vector<Endpoint> peers(3);
    if (!read_sentinel_peers(*RawTree(bytes), peers)) {
        return peers.empty() ? "refused" : "refused, and not emptied";
    }
    return text_of(peers);
}

TEST(SentinelReplicas, ThoseThatMayBeReadFrom) {
    const std::string fit = "127.0.0.1:6380";
    const std::string unfit = " unfit " + fit;
    const std::pair<Fields, std::string> cases[] = {
        {{}, fit},
        {{{"replica-announced", "-"}}, fit},
        {{{"role-reported", "replica"}}, fit},
        {{{"master-link-status", "-"}, {"primary-link-status", "ok"}}, fit},
        {{{"flags", "slave,reconf_done"}}, fit},
        {{{"flags", "s_down,slave"}}, unfit},
        {{{"flags", "slave,o_down"}}, unfit},
        {{{"flags", "slave,disconnected"}}, unfit},
        {{{"master-link-status", "err"}}, unfit},
        {{{"master-link-status", "-"}}, unfit},
        {{{"master-link-status", "err"}, {"flags", "s_down,slave,disconnected"}}, unfit},
        {{{"role-reported", "master"}}, ""},
        {{{"role-reported", "-"}}, ""},
        {{{"replica-announced", "0"}}, ""},
        {{{"flags", "s_down,slave"}, {"role-reported", "master"}}, ""},
        {{{"master-link-status", "err"}, {"replica-announced", "0"}}, ""},
        {{{"ip", ""}}, ""},
        {{{"ip", "-"}}, ""},
        {{{"port", "0"}}, ""},
    };
    for (const auto& [others, read] : cases) {
        const std::string name = others.empty() ? "as it is" : others[0].first + ' ' + others[0].second;
        EXPECT_EQ(replicas_of(array({changed(a_replica, others)})), read) << name;
    }
    EXPECT_EQ(replicas_of(array({})), "");
    const auto at = [](const char* port, const char* flags) {
        return changed(a_replica, {{"port", port}, {"flags", flags}});
    };
    EXPECT_EQ(replicas_of(array({at("3", "slave"), at("1", "slave"), at("5", "slave,disconnected"),
                                 at("2", "s_down"), at("1", "slave"), at("2", "s_down"), at("3", "s_down")})),
              "127.0.0.1:1 127.0.0.1:3 unfit 127.0.0.1:2 127.0.0.1:5")
        << "each once, in order";
}

TEST(SentinelPeers, AllThatAreNamed) {
    EXPECT_EQ(peers_of(array({fields({{"ip", "::1"}, {"port", "26380"}, {"flags", "s_down,sentinel"}}),
                              fields({{"name", "x"}, {"ip", "10.0.0.1"}, {"port", "26379"}}),
                              fields({{"ip", "?"}, {"port", "1"}}), fields({})})),
              "10.0.0.1:26379 [::1]:26380");
    EXPECT_EQ(peers_of(array({})), "");
}

TEST(SentinelLists, WhatIsNoAnswerIsRefused) {
    for (const auto read : {replicas_of, peers_of}) {
        for (const std::string& bytes :
             {std::string("-ERR No such master with that name\r\n"), std::string("$-1\r\n"),
              std::string("*1\r\n"), bulk("x"), array({bulk("ip"), bulk("a")}),
              array({fields(a_replica), "*-1\r\n"}), array({array({bulk("ip")})}),
              array({array({bulk("ip"), integer(1)})}),
              array({fields(a_replica), array({bulk("ip"), "$-1\r\n"})})}) {
            EXPECT_EQ(read(bytes), "refused") << bytes;
        }
    }
}

TEST(Replication, IsReadFromTheTextOfInfo) {
    const std::pair<const char*, const char*> cases[] = {
        {"# Replication\r\nrole:master\r\nconnected_slaves:0\r\n", "primary of 0"},
        {"# Replication\r\nrole:master\r\nconnected_slaves:1\r\nmin_slaves_good_slaves:0\r\n",
         "primary of 1 guarded"},
        {"role:master\nmin_replicas_good_replicas:1\n", "primary of 0 guarded"},
        {"role:primary\nconnected_replicas:12\n", "primary of 12"},
        {"role:master\nconnected_slaves:x\n", "primary of 0"},
        {"role:master\nconnected_slaves:99999999999999999999\n", "primary of 0"},
        {"role:primary\n", "primary of 0"},
        {"# Replication\r\nrole:slave\r\nmaster_host:a\r\nmaster_link_status:up\r\n", "replica"},
        {"role:replica\r\n", "replica"},
        {"role:slave\r\nmaster_link_status:down\r\nslave_repl_offset:0\r\n", "empty replica"},
        {"role:slave\r\nmaster_link_status:down\r\nslave_repl_offset:7\r\n", "replica"},
        {"role:slave\r\nmaster_link_status:up\r\nslave_repl_offset:0\r\n", "replica"},
        {"role:sentinel\r\n", "refused"},
        {"xrole:master\r\n", "refused"},
        {"role:\r\n", "refused"},
        {"", "refused"},
    };
    for (const auto& [info, text] : cases) {
        Replication replication{true, 7, true, true, {}};
        const bool read = read_replication(info, replication);
        const std::string is = replication.primary ? "primary of " + std::to_string(replication.replicas) +
                                                         (replication.guarded ? " guarded" : "")
                               : replication.empty ? "empty replica"
                                                   : "replica";
        EXPECT_EQ(read ? is : "refused", text) << info;
    }
    Replication replication;
    ASSERT_TRUE(read_replication("role:slave\r\nmaster_replid:b1\r\nmaster_replid2:0\r\n", replication));
    EXPECT_EQ(replication.id, "b1");
}

}  // namespace
}  // namespace rate_limit::topology_replies_test
