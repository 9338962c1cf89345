#pragma once

#include <cstddef>
#include <vector>

#include "bench/simulate/measures.h"
#include "bench/simulate/random.h"
#include "bench/simulate/setup.h"

namespace rate_limit::simulated {

class World;

/// Requests as the setup says: a Poisson process over all machines.
class Workload {
public:
    explicit Workload(World& world);

    void start();
    void stop() noexcept { stopped_ = true; }

private:
    void arrive();
    Key next_key();
    std::size_t machine_for(Key key);

    World& world_;
    Random random_;  // its own, so that each way gets the same requests
    Draws keys_;
    Draws machines_;
    bool stopped_ = false;
};

/// Requests that are given.
class Schedule {
public:
    Schedule(World& world, const std::vector<Arrival>& arrivals) : world_(world), arrivals_(arrivals) {}

    void start();

private:
    void arrive();

    World& world_;
    const std::vector<Arrival>& arrivals_;
    std::size_t next_ = 0;
};

}  // namespace rate_limit::simulated
