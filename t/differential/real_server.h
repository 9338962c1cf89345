#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "t/world/server_state.h"

namespace rate_limit::world {

struct ClusterOptions {
    std::vector<std::string> words;  ///< added to its command line
    std::string nodes;               ///< its nodes.conf
};

/// A redis-server of its own in a temporary folder, on a socket there, whose wall clock stands still but for
/// what it is told; and a connection to it. The binary is REDIS_SERVER of the environment, else redis-server.
/// It keeps all hashes in the order in which their fields came. Whatever fails ends the program with words on
/// standard error.
class RealServer {
public:
    /// `clock` is the library made of clock.c; `micros` is what the server's clock shows first.
    RealServer(const std::string& clock, std::int64_t micros, const ClusterOptions& options = {});
    ~RealServer();
    RealServer(const RealServer&) = delete;
    RealServer& operator=(const RealServer&) = delete;

    /// No command may be on its way.
    void set_clock(std::int64_t micros) noexcept;

    void send(std::string_view bytes);

    /// So many bytes of answers, or fewer where no more come in five seconds.
    std::string receive(std::size_t size);

    /// Sends these commands, and returns all answers to them.
    std::string ask(std::string_view bytes);

    /// Whose words it has.
    ServerVersion version();

    /// All further bytes that are there now.
    std::string receive_rest();

    /// From now on by a new connection.
    void reconnect();

    /// Deletes the folder in which it would save its data.
    void lose_disk();

private:
    void make_clock(std::int64_t micros);
    void launch(const std::string& clock, const std::vector<std::string>& options);
    void connect();
    bool try_connect();
    void check_clock(std::int64_t micros);
    bool fill(int patience);
    std::string path(std::string_view name) const { return folder_ + '/' + std::string(name); }

    std::string folder_;
    std::int64_t* micros_ = nullptr;
    pid_t server_ = -1;
    int connection_ = -1;
    std::string unsent_;
    std::string received_;
};

}  // namespace rate_limit::world
