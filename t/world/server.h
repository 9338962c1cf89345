#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "t/world/events.h"
#include "t/world/server_command.h"
#include "t/world/server_state.h"
#include "t/world/server_value.h"

namespace rate_limit::world {

class Scripts;

constexpr std::size_t database_count = 16;
using Databases = std::array<Keyspace, database_count>;

/// Changes that one command of a primary, or one script, has made: commands in RESP, as Redis sends them to
/// replicas. They are applied together.
struct Effect {
    std::size_t database = 0;
    std::string commands;
};

/// A connection, as its server remembers it.
struct Client {
    std::string user = "default";
    bool authenticated = false;
    std::size_t database = 0;
    bool readonly = false;
    bool asking = false;
    bool is_primary = false;  ///< the connection by which a replica gets effects
};

/// Sees what a server is asked.
class CommandObserver {
public:
    /// The server has run a command of a client, or refused it. Not for what a script calls.
    virtual void on_command(Server& server, const ServerCommand& command, Words words) = 0;

protected:
    ~CommandObserver() = default;
};

/// A Redis server in virtual time: runs the commands that the limiter sends, and its scripts by liblua, and
/// answers byte for byte as Redis does (`make differential`). Nothing moves but by a call.
///
/// A new server is a primary. For replication somebody takes what on_write() says, and gives it to apply() of
/// the replicas later. A failover changes `state.role` of both; what has not been applied is lost. A server
/// that starts anew is load() of what its disk had, and forget_scripts().
class Server {
public:
    using Clock = std::function<Micros()>;
    using OnWrite = std::function<void(const Effect& effect)>;

    /// `clock` is asked once with each command, and stands still during a script.
    explicit Server(Clock clock);
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    ServerState state;

    /// One command of a client. See Session for what comes over a connection.
    void run(Client& client, Words words, ServerReply& reply);

    /// `callback` is called at the end of each command that has changed something, but not for what comes by
    /// apply(). Null: no replica is there.
    void on_write(OnWrite callback) { on_write_ = std::move(callback); }

    /// Null: nobody looks. The observer outlives the server, or is taken away before.
    void observe(CommandObserver* observer) noexcept { observer_ = observer; }

    /// A replica takes over what its primary has done.
    void apply(const Effect& effect);

    /// All keys, also those that have expired: for a full synchronization, or as a disk keeps them.
    const Databases& snapshot() const noexcept { return databases_; }
    void load(const Databases& snapshot) { databases_ = snapshot; }
    void clear();

    /// All scripts are forgotten, as by SCRIPT FLUSH or a restart.
    void forget_scripts();

    /// A primary deletes what has expired, and says so to its replicas. Redis does so ten times a second for
    /// some keys; a world that never asks pays memory alone.
    void delete_expired();

    /// A key leaves for another server, or comes from one, as by MIGRATE. None: there is no such key.
    std::optional<Value> take(const std::string& key);
    void put(const std::string& key, const Value& value);

    /// Deletes all keys for which `unwanted` returns true, as a cluster's node does with those that it finds
    /// to be another one's.
    void drop(const std::function<bool(const std::string& key)>& unwanted);

    /// How many commands it was sent; also those that it refused.
    std::uint64_t commands() const noexcept { return commands_; }

    // Members that commands need.

    Micros micros() const noexcept { return micros_; }
    Millis now() const noexcept { return micros_ / 1000; }
    Scripts& scripts() noexcept { return *scripts_; }

    /// Null: no such key, or it has expired. On a primary that deletes it.
    Value* find(const Client& client, std::string_view key);

    /// Finds the key, or makes one with an empty string.
    Value& make(const Client& client, std::string_view key);
    bool erase(const Client& client, std::string_view key);
    Databases& databases() noexcept { return databases_; }

    /// For the replicas: what has just been done.
    void changed(const Client& client, Words words);
    void changed(const Client& client, std::initializer_list<std::string_view> words);

    /// How often something was changed.
    std::uint64_t changes() const noexcept { return changes_; }

    /// Why a command that a script calls is not run; empty if it is. `dirty`: the script has written.
    std::string refuse_in_script(const Client& client, const ServerCommand* command, Words words, bool dirty);

private:
    std::string refuse(const Client& client, const ServerCommand* command, Words words);
    std::string refuse_by_state(const ServerCommand& command, Words words);
    const ServerCommand* known(Words words) const;
    void publish(const Client& client);

    Clock clock_;
    OnWrite on_write_;
    CommandObserver* observer_ = nullptr;
    Databases databases_;
    Effect effect_;  // made by the command under way
    Micros micros_ = 0;
    std::uint64_t changes_ = 0;
    std::uint64_t commands_ = 0;
    std::unique_ptr<Scripts> scripts_;
};

/// A server's word for a user that may not run a command.
std::string not_permitted(const Server& server, const Client& client, const ServerCommand& command,
                          bool in_script);

/// The error by which a cluster's node sends a client elsewhere for these keys, or says why it does not serve
/// them; empty if it does.
std::string redirect(Server& server, const Client& client, const ServerCommand& command, Words keys);

}  // namespace rate_limit::world
