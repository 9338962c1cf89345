#include "t/world/server.h"

#include <utility>

#include "t/world/server_numbers.h"
#include "t/world/server_scripts.h"

namespace rate_limit::world {
namespace {

constexpr const char* loading = "LOADING Redis is loading the dataset in memory";
constexpr const char* busy =
    "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.";
constexpr const char* cannot_save =
    "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk. "
    "Commands that may modify the data set are disabled, because this instance is configured to report "
    "errors during writes if RDB snapshotting fails (stop-writes-on-bgsave-error option). Please check the "
    "Redis logs for details about the RDB error.";
constexpr const char* lacks_replicas = "NOREPLICAS Not enough good replicas to write.";
constexpr const char* is_replica = "READONLY You can't write against a read only replica.";
constexpr const char* out_of_memory = "OOM command not allowed when used memory > 'maxmemory'.";
constexpr const char* is_stale =
    "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.";

std::string unknown_command(const ServerState& state, Words words) {
    if (words.size() == 1 && has_subcommands(words[0])) {
        return "ERR wrong number of arguments for '" + in_lower_case(words[0]) + "' command";
    }
    if (words.size() > 1 && has_subcommands(words[0])) {
        std::string name(words[0]);
        for (char& c : name) {
            c = static_cast<char>(c >= 'a' && c <= 'z' ? c - ('a' - 'A') : c);
        }
        return "ERR unknown subcommand '" + std::string(words[1].substr(0, 128)) + "'. Try " + name +
               " HELP.";
    }
    const bool old = state.version == ServerVersion::redis_6;
    const std::string begin = old ? "`" : "'";
    const std::string end = old ? "`, " : "' ";
    std::string arguments;
    for (std::size_t i = 1; i < words.size() && arguments.size() < 128; ++i) {
        const std::string_view shown = words[i].substr(0, 128 - arguments.size());
        arguments.append(begin).append(shown).append(end);
    }
    return "ERR unknown command " + begin + std::string(words[0].substr(0, 128)) + (old ? "`" : "'") +
           ", with args beginning with: " + arguments;
}

/// The error that a script gets where a client would be sent elsewhere; empty where it would not.
std::string not_here(const std::string& redirect, const ServerCommand& command, ServerVersion version) {
    if (redirect.empty()) {
        return {};
    }
    if (version == ServerVersion::redis_8 && redirect.compare(0, 8, "TRYAGAIN") == 0) {
        return "ERR Unable to execute command '" + std::string(command.name) +
               "' in script because undeclared keys were accessed during rehashing of the slot";
    }
    if (redirect.find("only accepts read") != std::string::npos) {
        return "ERR Script attempted to execute a write command while the cluster is down and readonly";
    }
    return redirect.find("cluster is down") != std::string::npos
               ? "ERR Script attempted to execute a command while the cluster is down"
               : "ERR Script attempted to access a non local key in a cluster node";
}

}  // namespace

Server::Server(Clock clock) : clock_(std::move(clock)), scripts_(std::make_unique<Scripts>(*this)) {}

Server::~Server() = default;

void Server::run(Client& client, Words words, ServerReply& reply) {
    micros_ = clock_();
    ++commands_;
    const ServerCommand* command = known(words);
    const std::string refusal = refuse(client, command, words);
    const bool asks = command != nullptr && command->name == "asking";
    if (!refusal.empty()) {
        reply.error(refusal);
    } else {
        Call call{*this, client, *command, words, reply};
        command->run(call);
    }
    client.asking = client.asking && asks;
    publish(client);
    if (observer_ != nullptr && command != nullptr) {
        observer_->on_command(*this, *command, words);
    }
}

const ServerCommand* Server::known(Words words) const {
    const ServerCommand* command = find_command(words);
    const bool hidden = command != nullptr && state.unknown.find(command->name) != state.unknown.end();
    return hidden ? nullptr : command;
}

/// In the order in which Redis asks.
std::string Server::refuse(const Client& client, const ServerCommand* command, Words words) {
    if (command == nullptr) {
        return unknown_command(state, words);
    }
    if (!command->takes(words.size())) {
        return "ERR wrong number of arguments for '" + std::string(command->name) + "' command";
    }
    if (client.is_primary) {
        return {};
    }
    if (!client.authenticated && !command->is(ServerCommand::before_auth) &&
        state.passwords.find("default") != state.passwords.end()) {
        return "NOAUTH Authentication required.";
    }
    if (state.forbidden.find(command->name) != state.forbidden.end() &&
        !command->is(ServerCommand::before_auth)) {
        return not_permitted(*this, client, *command, false);
    }
    if (state.cluster) {
        const Words keys = keys_of(*command, words);
        std::string elsewhere = keys.size() == 0 ? "" : redirect(*this, client, *command, keys);
        if (!elsewhere.empty()) {
            return elsewhere;
        }
    }
    return refuse_by_state(*command, words);
}

std::string Server::refuse_by_state(const ServerCommand& command, Words words) {
    const bool writes = command.is(ServerCommand::writes);
    const bool primary = state.role == ServerRole::primary;
    if (state.out_of_memory && command.is(ServerCommand::denies_oom)) {
        return out_of_memory;
    }
    if (state.cannot_save && primary && (writes || command.name == "ping")) {
        return cannot_save;
    }
    if (state.lacks_replicas && primary && writes) {
        return lacks_replicas;
    }
    if (!primary && writes) {
        return is_replica;
    }
    const bool stale = !primary && !state.link_up && !state.serves_stale;
    if (stale && !command.is(ServerCommand::while_stale) &&
        !(command.name == "evalsha" && scripts_->find(words[1]) == Scripts::unknown)) {
        return is_stale;  // a script that it does not know may do so, as far as Redis looks
    }
    if (state.loading && !command.is(ServerCommand::while_loading)) {
        return loading;
    }
    return state.busy && !command.is(ServerCommand::while_busy) ? busy : "";
}

std::string Server::refuse_in_script(const Client& client, const ServerCommand* command, Words words,
                                     bool dirty) {
    const bool old = state.version == ServerVersion::redis_6;
    if (command == nullptr || state.unknown.find(command->name) != state.unknown.end()) {
        return old ? "ERR Unknown Redis command called from Lua script"
                   : "ERR Unknown Redis command called from script";
    }
    if (!command->takes(words.size())) {
        return old ? "ERR Wrong number of args calling Redis command From Lua script"
                   : "ERR Wrong number of args calling Redis command from script";
    }
    if (command->is(ServerCommand::not_in_scripts) ||
        state.not_in_scripts.find(command->name) != state.not_in_scripts.end()) {
        return old ? "ERR This Redis command is not allowed from scripts"
                   : "ERR This Redis command is not allowed from script";
    }
    const bool primary = state.role == ServerRole::primary;
    if (!primary && !state.link_up && !state.serves_stale && !command->is(ServerCommand::while_stale)) {
        return "ERR Can not execute the command on a stale replica";
    }
    if (state.forbidden.find(command->name) != state.forbidden.end()) {
        return not_permitted(*this, client, *command, true);
    }
    if (command->is(ServerCommand::writes) && !dirty) {
        if (!primary) {
            return is_replica;
        }
        if (state.cannot_save || state.lacks_replicas) {
            return state.cannot_save ? cannot_save : lacks_replicas;
        }
    }
    if (command->is(ServerCommand::denies_oom) && state.out_of_memory && !dirty) {
        return out_of_memory;
    }
    const Words keys = keys_of(*command, words);
    if (!state.cluster || keys.size() == 0) {
        return {};
    }
    return not_here(redirect(*this, client, *command, keys), *command, state.version);
}

std::string not_permitted(const Server& server, const Client& client, const ServerCommand& command,
                          bool in_script) {
    const std::string name = '\'' + std::string(command.name) + '\'';
    const ServerVersion version = server.state.version;
    if (version == ServerVersion::redis_8) {
        return (in_script ? "ERR ACL failure in script: User " : "NOPERM User ") + client.user +
               " has no permissions to run the " + name + " command";
    }
    if (in_script) {
        return "ERR The user executing the script can't run this command or subcommand";
    }
    return "NOPERM this user has no permissions to run the " + name + " command" +
           (version == ServerVersion::redis_6 ? " or its subcommand" : "");
}

Value* Server::find(const Client& client, std::string_view key) {
    Keyspace& keys = databases_[client.database];
    Value* value = keys.find(key);
    if (value == nullptr || value->expires == never || value->expires >= now() || client.is_primary) {
        return value;
    }
    if (state.role == ServerRole::primary) {
        keys.erase(key);
        changed(client, {"DEL", key});
        --changes_;  // nobody has asked for it
    }
    return nullptr;
}

Value& Server::make(const Client& client, std::string_view key) {
    return databases_[client.database].make(key);
}

bool Server::erase(const Client& client, std::string_view key) {
    return databases_[client.database].erase(key);
}

void Server::clear() {
    for (Keyspace& keys : databases_) {
        keys.clear();
    }
}

void Server::forget_scripts() {
    scripts_->clear();
}

void Server::changed(const Client& client, Words words) {
    ++changes_;
    if (on_write_ != nullptr && !client.is_primary) {
        append_command(effect_.commands, words.begin(), words.size());
    }
}

void Server::changed(const Client& client, std::initializer_list<std::string_view> words) {
    changed(client, Words(words.begin(), words.size()));
}

void Server::publish(const Client& client) {
    if (!effect_.commands.empty()) {
        effect_.database = client.database;
        const Effect effect = std::exchange(effect_, {});
        on_write_(effect);
    }
}

void Server::apply(const Effect& effect) {
    Client primary;
    primary.is_primary = true;
    primary.database = effect.database;
    std::string ignored;
    RespReply reply(ignored);
    std::vector<std::string_view> words;
    std::string_view rest = effect.commands;
    std::size_t length = 0;
    micros_ = clock_();
    while (read_request(rest, words, length) == Request::whole && !words.empty()) {
        if (const ServerCommand* command = find_command(words)) {
            Call call{*this, primary, *command, words, reply};
            command->run(call);
        }
        rest.remove_prefix(length);
    }
}

void Server::delete_expired() {
    if (state.role != ServerRole::primary) {
        return;
    }
    micros_ = clock_();
    Client nobody;
    for (nobody.database = 0; nobody.database < database_count; ++nobody.database) {
        for (const std::string& key : databases_[nobody.database].expired(now())) {
            databases_[nobody.database].erase(key);
            changed(nobody, {"DEL", key});
        }
        publish(nobody);
    }
}

}  // namespace rate_limit::world
