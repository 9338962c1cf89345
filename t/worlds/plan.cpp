#include "t/worlds/plan.h"

#include <algorithm>
#include <array>

namespace rate_limit::world {

namespace {

constexpr Micros second = 1'000'000;

LimitSetup choose_limit(Chance& chance) {
    constexpr std::array<const char*, 3> modes{"check_charge", "charge_refund", "lease"};
    LimitSetup limit;
    const std::int64_t kind = chance.below(6);
    const std::int64_t most = chance.percent(50) ? chance.between(1, 20) : chance.between(20, 2000);
    if (kind == 5) {
        limit.running = true;
        limit.rate = std::to_string(chance.between(1, 10));
        return limit;
    }
    // Windows outlast the world but for some: what is stored can be compared with what was admitted.
    limit.rate = std::to_string(most) + (chance.percent(80) ? "r/h" : "r/10s");
    limit.mode = chance.one_of(modes);
    if (kind == 4) {
        limit.mode = chance.percent(50) ? "charge_refund" : "lease";
        limit.rate = std::to_string(chance.between(1, 50)) + "r/s";
        limit.burst = chance.between(1, 100);
    }
    return limit;
}

}  // namespace

const char* name_of(FaultKind kind) noexcept {
    constexpr std::array<const char*, fault_kinds> names{"reset",   "slow",  "silent",  "refused", "pause",
                                                         "restart", "flush", "loading", "oom",     "leave"};
    return names[static_cast<std::size_t>(kind)];
}

Plan::Plan(std::uint64_t seed) {
    Chance chance(seed);
    StoreSetup store;
    const std::int64_t shards = chance.between(1, 3);
    for (std::int64_t i = 0; i < shards; ++i) {
        store.shards.push_back(
            {std::string(1, static_cast<char>('a' + i)), address_of_server(static_cast<std::size_t>(i))});
        ahead.push_back(chance.percent(70) ? 0 : chance.between(-2 * second, 2 * second));
    }
    setup.stores = {store};
    setup.limits = {choose_limit(chance)};
    setup.on_error = static_cast<OnError>(chance.below(3));
    machines = static_cast<std::size_t>(chance.between(1, 3));
    workers = static_cast<std::size_t>(chance.between(1, 2));
    lasts = chance.between(2, 30) * second;
    pause = chance.one_of(std::array<Micros, 4>{500, 2'000, 10'000, 100'000});
    longest = chance.one_of(std::array<Micros, 3>{1'000, 50'000, 2 * second});
    keys = chance.percent(50) ? chance.between(1, 3) : chance.between(1, 100);
    most_cost = chance.percent(70) ? 1 : 5;
    aborted = chance.percent(50) ? 0 : 10;
    exempt = chance.percent(50) ? 0 : 20;
    std::vector<FaultKind> kinds;
    for (std::size_t i = 0; i < fault_kinds; ++i) {
        if (chance.percent(30)) {
            kinds.push_back(static_cast<FaultKind>(i));
        }
    }
    const std::int64_t count = kinds.empty() ? 0 : chance.between(0, 20);
    for (std::int64_t i = 0; i < count; ++i) {
        const FaultKind kind = chance.one_of(kinds);
        const auto where = static_cast<std::size_t>(
            chance.below(kind == FaultKind::leave ? static_cast<std::int64_t>(machines) : shards));
        faults.push_back(
            {kind, chance.below(lasts), chance.between(1'000, 5 * second), where, chance.bits()});
    }
    std::sort(faults.begin(), faults.end(), [](const Fault& a, const Fault& b) { return a.at < b.at; });
}

std::string address_of_server(std::size_t number) {
    return "10.0.0." + std::to_string(number + 1) + ":6379";
}

}  // namespace rate_limit::world
