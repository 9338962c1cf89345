#include <algorithm>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "t/differential/choices.h"

namespace rate_limit::world {
namespace {

using Command = std::vector<std::string>;

/// A state: what brings the real server into it and out of it, and the simulated one.
struct Refusal {
    std::vector<Command> begin;
    std::vector<Command> end;
    std::function<void(ServerState& state)> change;
};

const std::vector<Refusal>& refusals() {
    static const std::vector<Refusal> all{
        {{{"CONFIG", "SET", "maxmemory", "1"}},
         {{"CONFIG", "SET", "maxmemory", "0"}},
         [](ServerState& state) { state.out_of_memory = true; }},
        {{{"CONFIG", "SET", "min-replicas-to-write", "1"}},
         {{"CONFIG", "SET", "min-replicas-to-write", "0"}},
         [](ServerState& state) { state.lacks_replicas = true; }},
        {{{"CONFIG", "SET", "min-replicas-to-write", "1"}, {"CONFIG", "SET", "maxmemory", "1"}},
         {{"CONFIG", "SET", "min-replicas-to-write", "0"}, {"CONFIG", "SET", "maxmemory", "0"}},
         [](ServerState& state) { state.lacks_replicas = state.out_of_memory = true; }},
        {{{"REPLICAOF", "127.0.0.1", "1"}},
         {{"REPLICAOF", "NO", "ONE"}},
         [](ServerState& state) {
             state.role = ServerRole::replica;
             state.link_up = false;
         }},
        {{{"CONFIG", "SET", "replica-serve-stale-data", "no"}, {"REPLICAOF", "127.0.0.1", "1"}},
         {{"REPLICAOF", "NO", "ONE"}, {"CONFIG", "SET", "replica-serve-stale-data", "yes"}},
         [](ServerState& state) {
             state.role = ServerRole::replica;
             state.link_up = state.serves_stale = false;
         }},
    };
    return all;
}

const char* const commands_of_user[] = {"hset",    "hget", "hmget",   "hlen",     "del",
                                        "hincrby", "time", "set",     "get",      "pttl",
                                        "pexpire", "hdel", "hgetall", "bitfield", "evalsha"};

void send_all(RealServer& real, const std::vector<Command>& commands) {
    for (const Command& command : commands) {
        real.send(encoded(command));
        real.receive(5);  // +OK
    }
}

/// Sends what the limiter sends, and a command of each kind.
void probe(Both& both) {
    for (int i = 0; i < 60; ++i) {
        for (const Choice& choice : choices) {
            choice.send(both);
        }
        send_plain(both);
    }
    const std::vector<Command> commands{
        {"PING"},
        {"TIME"},
        {"SET", "odd", "x"},
        {"GET", "odd"},
        {"DEL", "odd"},
        {"SELECT", "0"},
        {"NOSUCH", "a"},
        {"GET"},
        {"READONLY"},
        {"SCRIPT", "LOAD", "return 1"},
        {"SCRIPT", "EXISTS", "abc"},
        {"EVALSHA", "abc", "0"},
        {"EVAL", "return 1", "0"},
        {"EVAL", "return redis.call('SET', 'a', 'b')", "0"},
        {"EVAL", "return redis.pcall('SET', 'a', 'b')", "0"},
        {"EVAL", "redis.call('DEL', 'a') return redis.call('SET', 'a', 'b')", "0"},
        {"EVAL", "return redis.pcall('DEL', 'a')", "0"}};
    for (const Command& command : commands) {
        both.send(command);
    }
}

bool compare_refusal(Both& both, const Refusal& refusal) {
    send_all(both.real(), refusal.begin);
    const ServerState before = both.simulated().state;
    refusal.change(both.simulated().state);
    probe(both);
    const bool same = both.compare_answers();
    send_all(both.real(), refusal.end);
    both.simulated().state = before;
    return same;
}

bool compare_rights(Both& both) {
    for (const std::string command : commands_of_user) {
        const Refusal refusal{{{"ACL", "SETUSER", "default", "-" + command}},
                              {{"ACL", "SETUSER", "default", "+" + command}},
                              [&command](ServerState& state) { state.forbidden.insert(command); }};
        // The real server is told by a connection that may do so.
        if (!compare_refusal(both, refusal)) {
            return false;
        }
    }
    return true;
}

bool compare_passwords(Both& both) {
    send_all(both.real(), {{"CONFIG", "SET", "requirepass", "secret"}});
    both.simulated().state.passwords["default"] = "secret";
    both.reconnect();
    const std::vector<Command> commands{{"PING"},
                                        {"NOSUCH"},
                                        {"GET"},
                                        {"EVAL", "return 1", "0"},
                                        {"SCRIPT", "LOAD", "return 1"},
                                        {"AUTH", "wrong"},
                                        {"AUTH", "default", "wrong"},
                                        {"AUTH", "other", "secret"},
                                        {"INFO"},
                                        {"AUTH", "secret"},
                                        {"PING"},
                                        {"AUTH", "default", "secret"},
                                        {"AUTH", "wrong"},
                                        {"PING"}};
    // One at a time: newer servers do not refuse a password while other answers are on their way.
    const bool same = std::all_of(commands.begin(), commands.end(), [&both](const Command& command) {
        both.send(command);
        return both.compare_answers();
    });
    send_all(both.real(), {{"CONFIG", "SET", "requirepass", ""}});
    both.simulated().state.passwords.clear();
    return same;
}

/// Last, as the folder does not come back.
bool compare_without_disk(Both& both) {
    RealServer& real = both.real();
    real.lose_disk();
    send_all(real, {{"CONFIG", "SET", "save", "3600 1"}});
    real.ask(encoded({"BGSAVE"}));
    for (int i = 0; i < 500; ++i) {
        if (real.ask(encoded({"INFO", "persistence"})).find("bgsave_status:err") != std::string::npos) {
            break;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    both.simulated().state.cannot_save = true;
    probe(both);
    return both.compare_answers();
}

}  // namespace

bool compare_refusals(Both& both) {
    for (const Refusal& refusal : refusals()) {
        if (!compare_refusal(both, refusal)) {
            return false;
        }
    }
    return compare_rights(both) && compare_passwords(both) && compare_without_disk(both);
}

}  // namespace rate_limit::world
