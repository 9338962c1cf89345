#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "t/world/network.h"
#include "t/world/replication.h"
#include "t/world/server.h"
#include "t/world/written.h"

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

    /// The fields `used` and `reset` of this key; 0: there is none.
    Window window(const std::string& key);
    std::int64_t used(const std::string& key) { return window(key).used; }

    /// `replica` takes over all that is here, and from now on what is written, after `lag`. It is a replica
    /// of no other server any more: see stop_replicating_to().
    Replication& replicate_to(Redis& replica, Micros lag = 200);

    /// Null: it does not.
    Replication* replication_to(const Redis& replica) noexcept;

    /// A write that has not arrived never does, and counts as lost where `lost` is not null.
    void stop_replicating_to(const Redis& replica, LostWrites* lost = nullptr);

    /// All that it writes from now on is lost, until it takes over from another server; null: it is not.
    void count_as_lost(LostWrites* lost);

    /// It has the other one's data, and none of its own any more.
    void take_over(const Redis& other);

    /// It has no data any more, as after a restart without a disk, nor what keep() has kept. What it had
    /// counts as lost where `lost` is not null. Its replicas have none either.
    void lose_data(LostWrites* lost);

    /// Its disk keeps what it has now. All that it writes from now on is lost by restore().
    void keep(LostWrites& lost);

    /// It has again what it had at keep(), and so have its replicas. Nothing is done where it has lost its
    /// data or got those of another server since.
    void restore();

    /// A write of its primary arrives.
    void apply(const Effect& effect) { server_.apply(effect); }

    /// The process dies: its connections end, and nobody listens there until start(). `keeps`: its data.
    void kill(bool keeps);

    /// Its machine dies, and nobody is told: whoever is connected learns of it by what it sends after
    /// start(). The data stay.
    void vanish();
    void start();

    /// All its connections end, as if something between had ended them.
    void reset_connections();

    /// Each of its connections ends within a command or a reply: by `bits` somewhere in its next 200 bytes,
    /// of the direction that is.
    void reset_connections_within(std::uint64_t bits);

    bool runs() const noexcept { return !paused_ && !dead_; }

    /// It does not run until resume(): what comes waits for it.
    void pause() noexcept { paused_ = true; }
    void resume();

private:
    void publish(const Effect& effect);
    void listen_to_writes();

    void on_accept(const std::shared_ptr<Wire>& wire) override;
    void on_bytes(const std::shared_ptr<Wire>& wire, std::string_view bytes) override;
    void on_gone(const std::shared_ptr<Wire>& wire) override;

    Events& events_;
    Network& network_;
    const std::string address_;
    Server server_;
    Link& link_;
    bool paused_ = false;
    bool dead_ = false;
    std::vector<std::pair<std::shared_ptr<Wire>, std::string>> waiting_;  // bytes received in a pause
    std::vector<std::shared_ptr<Wire>> wires_;
    std::vector<std::unique_ptr<Replication>> replications_;
    LostWrites* lost_ = nullptr;  // where all that it writes goes, being lost
    bool listens_ = false;        // to its own writes
    Ledger ledger_;
    std::unique_ptr<Databases> kept_;  // null: nothing is
};

}  // namespace rate_limit::world
