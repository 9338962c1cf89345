#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "bench/simulate/measures.h"
#include "bench/simulate/random.h"
#include "bench/simulate/setup.h"
#include "bench/simulate/shard.h"
#include "t/world/client_request.h"

namespace rate_limit::simulated {

class World;

/// A request on one of the machines, until it is over.
struct Visit {
    Visit(World& of, world::WorkerProcess& worker, Key about, Micros takes);

    void decided();

    World& world;
    const Key key;
    const Micros response;              // how long it takes once it is admitted
    std::list<Visit>* among = nullptr;  // its machine's
    std::list<Visit>::iterator place{};
    std::optional<world::Events::Place> ends;
    world::ClientRequest request;
};

/// A machine that has clients.
struct Site {
    std::unique_ptr<world::Machine> machine;
    std::list<Visit> visits;
    Millis wall_clock = 0;
};

/// One run of a scenario: machines, servers, and all that happens to them. One seed gives one run.
class World {
public:
    World(const Setup& the_setup, Way the_way, std::uint64_t seed);
    ~World();
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    /// Requests come as the setup says, or as given; then what is under way ends.
    void run();
    void run(const std::vector<Arrival>& schedule);

    /// For how long requests have come.
    Micros time() const noexcept { return events.now() - begun_; }

    Micros response_time() noexcept;
    void request(std::size_t machine, Key key, Micros response);
    void decided(Visit& visit);

    void kill_worker(std::size_t machine);

    /// Power loss: it begins anew, with an empty zone.
    void kill_machine(std::size_t machine);

    /// The primaries go away, and come back with their data.
    void lose_primaries();
    void mend_primaries();

    /// The most windows that a machine remembers.
    std::size_t records() const;

    const Setup& setup;
    const Way way;
    Random random;
    world::Events events;
    Measures measures;
    world::Network network{events};
    std::vector<std::unique_ptr<Shard>> shards;

private:
    Millis utc() const noexcept { return world::Loop::usual_wall_clock + events.now() / 1000; }
    void start_machine(Site& site);
    void begin();
    void end();

    world::Setup configured_;
    std::vector<Site> sites_;
    std::list<Visit> over_;  // to be destroyed when nobody's turn it is
    Micros begun_ = 0;
};

}  // namespace rate_limit::simulated
