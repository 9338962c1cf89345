#include "bench/simulate/workload.h"

#include <cmath>

#include "bench/simulate/world.h"

namespace rate_limit::simulated {

Workload::Workload(World& world) : world_(world), random_(world.random.bits()) {
    const Setup& setup = world.setup;
    std::vector<double> weights(setup.machines, 1);
    for (std::size_t i = 0; i < weights.size() && setup.skew == Skew::harmonic; ++i) {
        weights[i] = 1 / static_cast<double>(i + 1);
    }
    machines_ = Draws(weights);
    if (setup.keys > 1) {
        weights.resize(setup.keys);
        for (std::size_t i = 0; i < weights.size(); ++i) {
            weights[i] = std::pow(static_cast<double>(i + 1), -setup.zipf);
        }
        keys_ = Draws(weights);
    }
}

void Workload::start() {
    world_.events.in(static_cast<Micros>(random_.exponential(1e6 / world_.setup.requests)),
                     [this] { arrive(); });
}

void Workload::arrive() {
    if (stopped_) {
        return;
    }
    const Key key = next_key();
    world_.request(machine_for(key), key, world_.response_time());
    start();
}

Key Workload::next_key() {
    const Setup& setup = world_.setup;
    if (setup.keys == 1 || (setup.hot_share != 0 && random_.part() < setup.hot_share)) {
        return 0;
    }
    return static_cast<Key>(keys_.next(random_));
}

std::size_t Workload::machine_for(Key key) {
    if (world_.setup.skew != Skew::sticky) {
        return machines_.next(random_);
    }
    const auto stay = static_cast<std::uint64_t>(world_.time() / sticky_for);
    return Random::mix(Random::mix(stay) ^ key) % world_.setup.machines;
}

void Schedule::start() {
    if (next_ < arrivals_.size()) {
        world_.events.in(arrivals_[next_].at - world_.time(), [this] { arrive(); });
    }
}

void Schedule::arrive() {
    const Arrival& arrival = arrivals_[next_++];
    world_.request(arrival.machine, arrival.key,
                   arrival.response != 0 ? arrival.response : world_.response_time());
    start();
}

}  // namespace rate_limit::simulated
