#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "t/world/network.h"
#include "t/world/server.h"

namespace rate_limit::world {

/// A Redis server of the world: listens at an address, and gives what it writes to its replicas, late.
class Redis final : public Service {
public:
    /// `clock_ahead`: microseconds by which its clock is ahead of UTC.
    Redis(Events& events, Network& network, const std::string& address, Micros clock_ahead = 0);
    ~Redis() override;
    Redis(const Redis&) = delete;
    Redis& operator=(const Redis&) = delete;

    Server& server() noexcept { return server_; }
    Link& link() noexcept { return link_; }
    const std::string& address() const noexcept { return address_; }

    /// The field `used` of this key; 0: there is none.
    std::int64_t used(const std::string& key);

    /// `replica` takes over all that is here, and from now on what is written, after `lag`.
    void replicate_to(Redis& replica, Micros lag = 200);

    /// The process dies: its connections end, and nobody listens there until start(). `keeps`: its data.
    void kill(bool keeps);
    void start();

    /// All its connections end, as if something between had ended them.
    void reset_connections();

    /// It does not run until resume(): what comes waits for it.
    void pause() noexcept { paused_ = true; }
    void resume();

private:
    struct Replica {
        Redis& redis;
        Micros lag;
    };

    void on_accept(const std::shared_ptr<Wire>& wire) override;
    void on_bytes(const std::shared_ptr<Wire>& wire, std::string_view bytes) override;
    void on_gone(const std::shared_ptr<Wire>& wire) override;

    Events& events_;
    Network& network_;
    const std::string address_;
    Server server_;
    Link& link_;
    bool paused_ = false;
    std::vector<std::pair<std::shared_ptr<Wire>, std::string>> waiting_;  // bytes received in a pause
    std::vector<std::shared_ptr<Wire>> wires_;
    std::vector<Replica> replicas_;
};

}  // namespace rate_limit::world
