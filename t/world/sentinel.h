#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "t/world/network.h"
#include "t/world/server_request.h"

namespace rate_limit::world {

/// One master, as one sentinel sees it. Addresses are as text_of() writes them.
struct Watched {
    struct Replica {
        std::string address;
        bool up = true;          ///< false: the sentinel does not reach it
        bool linked = true;      ///< to its primary
        bool is_replica = true;  ///< so it says itself
    };

    std::string primary;
    std::uint64_t epoch = 1;    ///< config-epoch
    bool up = true;             ///< false: the sentinel does not reach the primary
    bool failing_over = false;  ///< it has the next epoch, and still this primary
    std::vector<Replica> replicas{};
};

/// A sentinel of the world: a listener that says what it believes of the masters that it watches. Whoever
/// holds it decides when it learns what.
class Sentinel final : public Service {
public:
    Sentinel(Network& network, const std::string& address);
    ~Sentinel() override;
    Sentinel(const Sentinel&) = delete;
    Sentinel& operator=(const Sentinel&) = delete;

    const std::string& address() const noexcept { return address_; }
    Link& link() noexcept { return link_; }

    /// Its belief of the master of that name.
    Watched& watch(const std::string& name) { return watched_[name]; }

    /// It watches no master of that name any more.
    void forget(const std::string& name) { watched_.erase(name); }

    std::vector<std::string> peers;  ///< other sentinels

    /// The process dies: its connections end, and nobody listens there until start(). What it knows stays.
    void kill();
    void start() { network_.listen(address_, *this); }

    /// All its connections end.
    void reset_connections();

private:
    struct Connection;

    void on_accept(const std::shared_ptr<Wire>& wire) override;
    void on_bytes(const std::shared_ptr<Wire>& wire, std::string_view bytes) override;
    void on_gone(const std::shared_ptr<Wire>& wire) override;

    void run(Words words, std::string& replies) const;
    void run_sentinel(Words words, std::string& replies) const;

    Network& network_;
    const std::string address_;
    Link& link_;
    std::map<std::string, Watched, std::less<>> watched_;
    std::vector<std::shared_ptr<Wire>> wires_;
};

}  // namespace rate_limit::world
