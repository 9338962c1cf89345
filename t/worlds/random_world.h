#pragma once

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "t/world/client_request.h"
#include "t/world/redis.h"
#include "t/worlds/plan.h"
#include "t/worlds/truths.h"

namespace rate_limit::world {

/// One world by its plan: all that happens in it, from its begin until it has healed.
class RandomWorld {
public:
    /// `log` gets a line for each event; null: nobody reads them.
    RandomWorld(std::uint64_t seed, std::ostream* log);
    ~RandomWorld();
    RandomWorld(const RandomWorld&) = delete;
    RandomWorld& operator=(const RandomWorld&) = delete;

    /// What did not hold; empty: all did.
    std::vector<std::string> run();

    std::uint64_t requests() const noexcept { return requests_; }
    Micros time() const noexcept { return events_.now(); }

private:
    /// A request, and how far it has come.
    struct Visit {
        std::unique_ptr<ClientRequest> request;
        std::size_t key;
        Micros begun;
        std::size_t number = 0;  // among those of the key that were let in
    };

    void arrive();
    void begin_request();
    void decided(Visit& visit);
    void end_request(Visit& visit);
    void begin(const Fault& fault);
    void end(const Fault& fault);
    void replace_worker(Machine& machine, std::uint64_t bits);
    void end_if_over(Machine& machine, WorkerProcess& worker);
    void say(const std::string& what);
    void compare_at_the_end();

    Plan plan_;
    Chance chance_;
    std::ostream* const log_;
    Events events_;
    Network network_{events_};
    std::vector<std::unique_ptr<Redis>> servers_;
    std::vector<std::unique_ptr<Machine>> machines_;
    std::vector<std::unique_ptr<Visit>> visits_;
    std::vector<std::size_t> running_;  // of each worker's requests
    std::uint64_t requests_ = 0;
    Truths truths_;
};

}  // namespace rate_limit::world
