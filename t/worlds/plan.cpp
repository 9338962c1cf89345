#include "t/worlds/plan.h"

#include <array>

namespace rate_limit::world {

namespace {

/// The numbers of one part of a world.
Chance part(std::uint64_t seed, std::uint64_t number) {
    constexpr std::uint64_t parts = 8;
    return Chance(seed * parts + number);
}

template <typename Kind>
std::string describe_with_time(const Fault<Kind>& fault) {
    return describe(fault) + " at " + std::to_string(fault.at) + " us, for " + std::to_string(fault.life) +
           " us";
}

}  // namespace

Plan::Plan(std::uint64_t of)
    : seed(of),
      lasts(part(seed, 0).between(2, 30) * 1'000'000),
      servers(part(seed, 1), lasts),
      machines(part(seed, 2), lasts),
      traffic(part(seed, 3), servers.stores, lasts),
      course(part(seed, 4)),
      operators{0, Chance(0)} {
    servers.add_later(part(seed, 7), lasts);
    Setup setup;
    setup.stores = servers.stores;
    setup.limits = traffic.limits;
    setup.on_error = traffic.on_error;
    // No turn walks through all of a large one; and a small one has no room to note the tokens of so many
    // keys.
    Chance settings = part(seed, 6);
    if (settings.percent(3) || traffic.keys >= 300) {
        setup.zone_size = std::size_t{24} << 20;
    }
    setup.stores.front().shares_overrides = settings.percent(30);
    operators = {settings.one_of(std::array<Micros, 3>{20'000, 300'000, 2'000'000}), Chance(settings.bits())};
    machines.add_later(Chance(settings.bits()), lasts);
    if (servers.add_names(Chance(settings.bits()), lasts)) {
        setup.stores.front().shards = servers.stores.front().shards;
    }
    machines.add_late_clocks(Chance(settings.bits()));
    setups.push_back(setup);
    Chance changes = part(seed, 5);
    for (int i = 0; i < 2 && machines.has(MachineFault::change); ++i) {
        setups.push_back(draw_change(setup, changes));
    }
}

Plan Plan::with_faults(const std::vector<std::size_t>& numbers) const {
    Plan plan = *this;
    plan.servers.faults.clear();
    plan.machines.faults.clear();
    const std::size_t of_servers = servers.faults.size();
    for (const std::size_t number : numbers) {
        if (number < of_servers) {
            plan.servers.faults.push_back(servers.faults[number]);
        } else {
            plan.machines.faults.push_back(machines.faults.at(number - of_servers));
        }
    }
    return plan;
}

std::string Plan::describe_fault(std::size_t number) const {
    const std::size_t of_servers = servers.faults.size();
    return number < of_servers ? describe_with_time(servers.faults[number])
                               : describe_with_time(machines.faults.at(number - of_servers));
}

}  // namespace rate_limit::world
