#include "bench/simulate/world.h"

#include <algorithm>

#include "bench/simulate/faults.h"
#include "bench/simulate/mode.h"
#include "bench/simulate/workload.h"

namespace rate_limit::simulated {

namespace {

constexpr Micros drain = 1'000'000;

Micros micros_of(double seconds) noexcept {
    return static_cast<Micros>(seconds * 1e6);
}

}  // namespace

World::World(const Setup& the_setup, Way the_way, std::uint64_t seed)
    : setup(the_setup), way(the_way), random(seed), measures(the_setup, the_way), salt_(random.bits()) {
    for (std::size_t i = 0; i < setup.shards; ++i) {
        shards.push_back(std::make_unique<Shard>(setup, !is_exact(way)));
        shards.back()->cut(Events::start + micros_of(setup.cut.from),
                           Events::start + micros_of(setup.cut.until));
    }
    for (std::size_t i = 0; i < setup.machines; ++i) {
        const auto ahead = static_cast<Micros>((2 * random.part() - 1) * setup.clocks_apart * 1000);
        machines.push_back(std::make_unique<Machine>(*this, i, ahead));
    }
}

void World::run() {
    Faults faults(*this);
    Workload workload(*this);
    workload.start();
    events.run(Events::start + micros_of(setup.seconds));
    workload.stop();
    events.run(events.now() + drain + 2 * static_cast<Micros>(setup.response.fixed));
    measures.finish();
}

void World::run(const std::vector<Arrival>& schedule) {
    Schedule arrivals(*this, schedule);
    arrivals.start();
    events.run(Events::start + (schedule.empty() ? 0 : schedule.back().at));
    events.run(events.now() + drain + 2 * static_cast<Micros>(setup.response.fixed));
    measures.finish();
}

Micros World::response_time() noexcept {
    const double part = 1 + setup.response_spread * (2 * random.part() - 1);
    return static_cast<Micros>(part * static_cast<double>(draw(setup.response, random)));
}

void World::request(std::size_t machine, Key key, Micros response) {
    auto& workers = machines[machine]->workers();
    Request& request = requests.take();
    request = Request();
    request.world = this;
    request.mode = &mode_of(way);
    request.worker = workers[workers.size() == 1 ? 0 : random.below(workers.size())].get();
    request.life = request.worker->life();
    request.key = key;
    request.id = id_of(key);
    request.response = response;
    request.begin();
}

void World::lose_primaries() {
    for (const auto& machine : machines) {
        for (const auto& worker : machine->workers()) {
            worker->for_each_channel([](Channel& channel) {
                channel.primary.fail();
                channel.charges.close_gate();
            });
        }
    }
}

void World::mend_primaries() {
    for (const auto& machine : machines) {
        for (const auto& worker : machine->workers()) {
            worker->for_each_channel([](Channel& channel) {
                channel.primary.mend();
                channel.charges.send_soon();
                channel.fetches.ask_again();
            });
        }
    }
}

}  // namespace rate_limit::simulated
