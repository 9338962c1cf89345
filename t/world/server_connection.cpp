#include <string>

#include "t/world/server.h"
#include "t/world/server_numbers.h"

namespace rate_limit::world {
namespace {

std::string info_memory(const ServerState& state) {
    return "# Memory\r\nmaxmemory:" + std::to_string(state.maxmemory) +
           "\r\nmaxmemory_policy:" + state.maxmemory_policy + "\r\n";
}

std::string info_replication(const ServerState& state) {
    std::string text = "# Replication\r\n";
    if (state.role == ServerRole::replica) {
        text += std::string("role:slave\r\nmaster_link_status:") + (state.link_up ? "up" : "down") +
                "\r\nslave_repl_offset:" + (state.link_up || state.synced ? "1" : "0") + "\r\n";
    } else {
        text += "role:master\r\n";
    }
    if (!state.replication_id.empty()) {
        text += "master_replid:" + state.replication_id + "\r\n";
    }
    text += "connected_slaves:" + std::to_string(state.replicas) + "\r\n";
    if (state.role == ServerRole::primary && state.min_replicas_to_write > 0) {
        const std::size_t good = state.lacks_replicas ? 0 : state.replicas;
        text += "min_slaves_good_slaves:" + std::to_string(good) + "\r\n";
    }
    return text;
}

}  // namespace

void run_ping(Call& call) {
    if (call.words.size() > 2) {
        call.reply.error("ERR wrong number of arguments for 'ping' command");
    } else if (call.words.size() == 2) {
        call.reply.bulk(call.words[1]);
    } else {
        call.reply.status("PONG");
    }
}

void run_auth(Call& call) {
    if (call.words.size() > 3) {
        call.reply.error(syntax_error);
        return;
    }
    const auto& passwords = call.server.state.passwords;
    const bool names_user = call.words.size() == 3;
    const std::string_view user = names_user ? call.words[1] : "default";
    const auto known = passwords.find(user);
    if (!names_user && known == passwords.end()) {
        call.reply.error(
            "ERR AUTH <password> called without any password configured for the default user. Are you sure "
            "your configuration is correct?");
        return;
    }
    // Without a password of its own, the default user has any.
    const bool right =
        known != passwords.end() ? known->second == call.words[call.words.size() - 1] : user == "default";
    if (!right) {
        call.reply.error("WRONGPASS invalid username-password pair or user is disabled.");
        return;
    }
    call.client.user = user;
    call.client.authenticated = true;
    call.reply.status("OK");
}

void run_select(Call& call) {
    std::int64_t database = 0;
    if (!read_integer(call.words[1], database)) {
        call.reply.error(call.server.state.version == ServerVersion::redis_6 ? "ERR invalid DB index"
                                                                             : no_integer);
    } else if (call.server.state.cluster && database != 0) {
        call.reply.error("ERR SELECT is not allowed in cluster mode");
    } else if (database < 0 || database >= static_cast<std::int64_t>(database_count)) {
        call.reply.error("ERR DB index is out of range");
    } else {
        call.client.database = static_cast<std::size_t>(database);
        call.reply.status("OK");
    }
}

/// The sections that the limiter asks for, with the lines that it reads.
void run_info(Call& call) {
    const ServerState& state = call.server.state;
    std::string text;
    for (const std::string_view section : call.words.from(1)) {
        text += is_word(section, "memory")        ? info_memory(state)
                : is_word(section, "replication") ? info_replication(state)
                                                  : "";
    }
    call.reply.bulk(call.words.size() > 1 ? text : info_memory(state) + "\r\n" + info_replication(state));
}

void run_time(Call& call) {
    const Micros now = call.server.micros();
    call.reply.array(2);
    call.reply.bulk(std::to_string(now / 1'000'000));
    call.reply.bulk(std::to_string(now % 1'000'000));
}

void run_readonly(Call& call) {
    if (!call.server.state.cluster) {
        call.reply.error("ERR This instance has cluster support disabled");
        return;
    }
    call.client.readonly = true;
    call.reply.status("OK");
}

void run_readwrite(Call& call) {
    if (!call.server.state.cluster) {
        call.reply.error("ERR This instance has cluster support disabled");
        return;
    }
    call.client.readonly = false;
    call.reply.status("OK");
}

}  // namespace rate_limit::world
