#include "bench/simulate/faults.h"

#include "bench/simulate/world.h"

namespace rate_limit::simulated {

namespace {

void schedule_kill(World& world, unsigned count) {
    constexpr unsigned machines_among = 3;
    world.events.in(micros_of(world.setup.kill_every), [&world, count] {
        const std::size_t machine = world.random.below(world.setup.machines);
        if (count % machines_among == 0) {
            world.kill_machine(machine);
        } else {
            world.kill_worker(machine);
        }
        schedule_kill(world, count + 1);
    });
}

}  // namespace

void schedule_faults(World& world) {
    const Setup& setup = world.setup;
    if (setup.kill_every != 0) {
        schedule_kill(world, 1);
    }
    if (!setup.outage.is_empty()) {
        world.events.in(micros_of(setup.outage.from), [&world] { world.lose_primaries(); });
        world.events.in(micros_of(setup.outage.until), [&world] { world.mend_primaries(); });
    }
}

}  // namespace rate_limit::simulated
