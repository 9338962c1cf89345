#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <sys/types.h>

#include <hiredis/hiredis.h>

namespace rate_limit::simulated {

struct FreeReply {
    void operator()(redisReply* reply) const noexcept { freeReplyObject(reply); }
};
using RealReply = std::unique_ptr<redisReply, FreeReply>;

/// A redis-server of its own in a temporary folder, on a socket there, whose wall clock stands still but for
/// what it is told; and a connection to it. The binary is REDIS_SERVER of the environment, else redis-server.
/// Whatever fails ends the program with words on standard error.
class RealServer {
public:
    /// `clock` is the library made of clock.c; `micros` is what the server's clock shows first.
    RealServer(const std::string& clock, std::int64_t micros);
    ~RealServer();
    RealServer(const RealServer&) = delete;
    RealServer& operator=(const RealServer&) = delete;

    /// No command may be on its way.
    void set_clock(std::int64_t micros) noexcept;

    void send(std::string_view command);
    RealReply receive();

    RealReply ask(std::string_view command) {
        send(command);
        return receive();
    }

private:
    void make_clock(std::int64_t micros);
    void launch(const std::string& clock);
    void connect();
    void check_clock(std::int64_t micros);
    std::string path(std::string_view name) const { return folder_ + '/' + std::string(name); }

    std::string folder_;
    std::int64_t* micros_ = nullptr;
    pid_t server_ = -1;
    redisContext* connection_ = nullptr;
};

}  // namespace rate_limit::simulated
