#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "bench/simulate/machine.h"
#include "bench/simulate/measures.h"
#include "bench/simulate/node.h"
#include "bench/simulate/random.h"
#include "bench/simulate/request.h"
#include "bench/simulate/setup.h"
#include "core/free_list.h"

namespace rate_limit::simulated {

/// One run of a scenario: machines, servers, and all that happens to them. One seed gives one run.
class World {
public:
    World(const Setup& the_setup, Way the_way, std::uint64_t seed);
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    /// Requests come as the setup says, or as given; then what is under way ends.
    void run();
    void run(const std::vector<Arrival>& schedule);

    Millis millis() const noexcept { return events.now() / 1000; }
    WindowId id_of(Key key) const noexcept { return {Random::mix(key ^ salt_), Random::mix(key ^ ~salt_)}; }
    std::size_t shard_of(Key key) const noexcept {
        return setup.shards == 1 ? 0 : Random::mix(key ^ salt_ >> 1) % setup.shards;
    }
    Micros response_time() noexcept;
    void request(std::size_t machine, Key key, Micros response);

    /// The primaries go away, or come back.
    void lose_primaries();
    void mend_primaries();

    const Setup& setup;
    const Way way;
    Events events;
    Random random;
    Measures measures;
    FreeList<Message> messages;
    FreeList<Request> requests;
    FreeList<Charge> charges;
    FreeList<Fetch> fetches;
    FreeList<NextLook> looks;
    std::deque<std::string> names;  // names of workers; they never move
    std::vector<std::unique_ptr<Shard>> shards;
    std::vector<std::unique_ptr<Machine>> machines;

private:
    const std::uint64_t salt_;
};

}  // namespace rate_limit::simulated
