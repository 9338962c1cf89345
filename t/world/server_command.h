#pragma once

#include <string_view>

#include "t/world/server_reply.h"
#include "t/world/server_request.h"

namespace rate_limit::world {

class Server;
struct Client;
struct ServerCommand;

/// A command under way.
struct Call {
    Server& server;
    Client& client;
    const ServerCommand& command;
    Words words;
    ServerReply& reply;
};

/// Which of a command's words are keys.
enum class KeysAt : unsigned char { none, second, all, counted };

/// An entry of Redis's table of commands.
struct ServerCommand {
    enum Flag : unsigned {
        writes = 1,
        denies_oom = 2,
        while_loading = 4,
        while_stale = 8,
        while_busy = 16,
        before_auth = 32,
        not_in_scripts = 64,
    };

    std::string_view name;  ///< in lower case; a subcommand's is `script|load`
    int arity;              ///< how many words; where negative, so many or more
    unsigned flags;
    KeysAt keys;
    void (*run)(Call& call);

    bool is(Flag flag) const noexcept { return (flags & flag) != 0; }
    bool takes(std::size_t words) const noexcept {
        const auto count = static_cast<int>(words);
        return arity >= 0 ? count == arity : count >= -arity;
    }
};

/// Null: no such command. `words` is not empty.
const ServerCommand* find_command(Words words);

/// Whether there are commands that begin with this word, such as SCRIPT.
bool has_subcommands(std::string_view name);

/// The keys among its words. None where their number makes no sense.
Words keys_of(const ServerCommand& command, Words words);

// Each sets out what a command does with keys of one type, or with none.

void run_hmget(Call& call);
void run_hget(Call& call);
void run_hgetall(Call& call);
void run_hlen(Call& call);
void run_hset(Call& call);
void run_hincrby(Call& call);
void run_hdel(Call& call);

void run_get(Call& call);
void run_set(Call& call);
void run_bitfield(Call& call);
void run_rpush(Call& call);

void run_del(Call& call);
void run_exists(Call& call);
void run_type(Call& call);
void run_expire(Call& call);  ///< EXPIRE, EXPIREAT, PEXPIRE, PEXPIREAT
void run_persist(Call& call);
void run_ttl(Call& call);  ///< PTTL, TTL
void run_dbsize(Call& call);
void run_flushall(Call& call);

void run_ping(Call& call);
void run_auth(Call& call);
void run_select(Call& call);
void run_info(Call& call);
void run_time(Call& call);
void run_readonly(Call& call);
void run_readwrite(Call& call);
void run_asking(Call& call);
void run_cluster_slots(Call& call);

void run_eval(Call& call);
void run_evalsha(Call& call);
void run_script_load(Call& call);
void run_script_exists(Call& call);
void run_script_flush(Call& call);

}  // namespace rate_limit::world
