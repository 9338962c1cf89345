#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include "t/differential/choices.h"
#include "t/differential/cluster.h"

namespace rate_limit::world {
namespace {

using Command = std::vector<std::string>;

constexpr Micros cluster_begins = 1'700'000'000'000'000;
const std::string me(40, 'a');
const std::string other(40, 'b');

/// Hash slots 0 to 8191 are this node's, the others those of one that is not there.
std::string nodes_conf(int bus) {
    return me + " 127.0.0.1:7001@" + std::to_string(bus) + ", myself,master - 0 0 1 connected 0-8191\n" +
           other +
           " 127.0.0.1:1@2, master - 0 0 2 connected 8192-16383\nvars currentEpoch 2 lastVoteEpoch 0\n";
}

ClusterView view() {
    ClusterView view;
    view.me = me;
    view.map = std::make_shared<const ClusterMap>(ClusterMap{{{{0, 8191}}, {me, "127.0.0.1", 7001}, {}},
                                                             {{{8192, 16383}}, {other, "127.0.0.1", 1}, {}}});
    return view;
}

/// A node of a cluster and a simulated one, which get the same commands.
class TwoNodes {
public:
    TwoNodes(const std::string& clock, int bus)
        : real_(clock, cluster_begins,
                {{"--cluster-enabled", "yes", "--cluster-port", std::to_string(bus), "--bind", "127.0.0.1",
                  "--cluster-announce-ip", "127.0.0.1", "--cluster-announce-port", "7001",
                  "--cluster-node-timeout", "100000000"},
                 nodes_conf(bus)}) {
        server_.state.version = real_.version();
        server_.state.cluster = view();
    }

    ClusterView& view_of_simulated() { return *server_.state.cluster; }

    void tell_real(const Command& command) { real_.ask(encoded(command)); }

    bool compare(const std::vector<Command>& commands) {
        for (const Command& command : commands) {
            const std::string bytes = encoded(command);
            session_.receive(bytes);
            const std::string expected = session_.take_replies();
            real_.send(bytes);
            const std::string answer = real_.receive(expected.size());
            if (answer != expected) {
                std::printf("an answer of a cluster's node to %s\n  real:      %s\n  simulated: %s\n",
                            readable(bytes).c_str(), readable(answer + real_.receive_rest()).c_str(),
                            readable(expected).c_str());
                return false;
            }
        }
        return true;
    }

    /// Until its node says so of its cluster.
    bool wait_until(const std::string& state) {
        for (int i = 0; i < 500; ++i) {
            real_.set_clock(now_ += 1'000'000);
            if (real_.ask(encoded({"CLUSTER", "INFO"})).find("cluster_state:" + state) != std::string::npos) {
                return true;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
        std::printf("the cluster does not become %s\n", state.c_str());
        return false;
    }

private:
    RealServer real_;
    Micros now_ = cluster_begins;
    Server server_{[this] { return now_; }};
    Session session_{server_};
};

/// "bar" is in hash slot 5061, "foo" in 12182.
const std::vector<Command>& commands() {
    static const std::vector<Command> all{
        {"GET", "bar"},
        {"GET", "foo"},
        {"SET", "bar", "1"},
        {"SET", "foo", "1"},
        {"ASKING"},
        {"GET", "foo"},
        {"ASKING"},
        {"SET", "foo", "1"},
        {"ASKING"},
        {"PING"},
        {"GET", "foo"},
        {"ASKING"},
        {"EXISTS", "foo", "{foo}1"},
        {"ASKING"},
        {"EVAL", "return redis.call('GET', KEYS[1])", "1", "foo"},
        {"ASKING"},
        {"EVAL", "redis.call('DEL', KEYS[1]) return redis.call('SET', KEYS[1], 'x')", "1", "foo"},
        {"ASKING"},
        {"EVAL", "return redis.call('EXISTS', 'foo', '{foo}1')", "1", "foo"},
        {"GET", "bar"},
        {"GET", "{bar}1"},
        {"EXISTS", "bar", "{bar}1"},
        {"DEL", "bar", "foo"},
        {"EVAL", "return redis.call('GET', KEYS[1])", "1", "bar"},
        {"EVAL", "return redis.call('SET', KEYS[1], 'x')", "1", "bar"},
        {"EVAL", "redis.call('DEL', KEYS[1]) return redis.call('SET', KEYS[1], 'x')", "1", "bar"},
        {"EVAL", "return redis.call('GET', 'foo')", "1", "bar"},
        {"EVAL", "return redis.pcall('GET', 'foo')", "1", "bar"},
        {"EVAL", "return redis.call('GET', 'foo')", "0"},
        {"EVAL", "return 1", "2", "bar", "foo"},
        {"EVAL", "return 1", "9", "bar"},
        {"SELECT", "1"},
        {"SELECT", "0"},
        {"PING"},
        {"READONLY"},
        {"GET", "foo"},
        {"READWRITE"},
    };
    return all;
}

}  // namespace

bool compare_cluster(const std::string& clock) {
    TwoNodes nodes(clock, 20'000 + static_cast<int>(getpid() % 10'000));
    nodes.view_of_simulated().down = true;
    if (!nodes.compare(commands())) {
        return false;
    }
    nodes.view_of_simulated().down = false;
    if (!nodes.wait_until("ok") || !nodes.compare(commands()) || !nodes.compare({{"CLUSTER", "SLOTS"}})) {
        return false;
    }
    nodes.tell_real({"CLUSTER", "SETSLOT", "12182", "IMPORTING", other});
    nodes.view_of_simulated().importing[12182] = {other, "127.0.0.1", 1};
    if (!nodes.compare(commands())) {
        return false;
    }
    nodes.tell_real({"CLUSTER", "SETSLOT", "5061", "MIGRATING", other});
    nodes.view_of_simulated().migrating[5061] = {other, "127.0.0.1", 1};
    if (!nodes.compare(commands()) || !nodes.compare(commands())) {
        return false;
    }
    nodes.tell_real({"CLUSTER", "SETSLOT", "5061", "STABLE"});
    nodes.tell_real({"CLUSTER", "DELSLOTS", "100"});
    nodes.tell_real({"CONFIG", "SET", "cluster-allow-reads-when-down", "yes"});
    ClusterView& view = nodes.view_of_simulated();
    view.migrating.clear();
    view.down = view.reads_when_down = true;
    return nodes.wait_until("fail") && nodes.compare(commands());
}

}  // namespace rate_limit::world
