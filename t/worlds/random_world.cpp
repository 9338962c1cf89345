#include "t/worlds/random_world.h"

#include <algorithm>

namespace rate_limit::world {

namespace {

/// By then every connection is made again, every deadline is over, and every worker has left.
constexpr Micros heals_in = 60'000'000;

}  // namespace

RandomWorld::RandomWorld(const Plan& plan, std::ostream* log)
    : plan_(plan),
      log_(events_, log),
      servers_(events_, network_, plan_.servers),
      machines_(events_, plan_.machines, plan_.setup),
      truths_(plan_.setup.limits.front(), servers_.lost()),
      traffic_(events_, plan_, machines_, truths_, log_) {
    servers_.ask_machines([this](const std::string& former, const std::string& primary) {
        return machines_.all_know(former, primary);
    });
}

std::vector<std::string> RandomWorld::run() {
    set_faults();
    pass(plan_.lasts + heals_in / 2);
    machines_.leave();
    pass(heals_in / 2);
    if (truths_.failures().empty()) {
        compare_at_the_end();
    }
    std::vector<std::string> failures = truths_.failures();
    for (std::string& failure : failures) {
        failure += " (" + plan_.setup.limits.front().mode + ")";
    }
    return failures;
}

/// In small parts, until something does not hold.
void RandomWorld::pass(Micros time) {
    constexpr Micros part = 10'000;
    for (Micros passed = 0; passed < time && truths_.failures().empty(); passed += part) {
        events_.pass(std::min(part, time - passed));
    }
}

void RandomWorld::set_faults() {
    const auto set = [this](const auto& faults, auto begin, auto end) {
        for (const auto& fault : faults) {
            events_.at(fault.at, [this, &fault, begin] {
                log_.add("begins: ", name_of(fault.kind), ' ', fault.where);
                begin(fault);
            });
            events_.at(fault.at + fault.life, [this, &fault, end] {
                log_.add("ends: ", name_of(fault.kind), ' ', fault.where);
                end(fault);
            });
        }
    };
    set(
        plan_.servers.faults, [this](const auto& fault) { servers_.begin(fault); },
        [this](const auto& fault) { servers_.end(fault); });
    set(
        plan_.machines.faults, [this](const auto& fault) { machines_.begin(fault, traffic_); },
        [this](const auto& fault) { machines_.end(fault); });
}

void RandomWorld::compare_at_the_end() {
    if (!truths_.lasts()) {
        return;
    }
    const std::int64_t unsure = machines_.uncertain();
    for (std::int64_t key = 0; key < plan_.traffic.keys; ++key) {
        const std::int64_t stored = servers_.used("rl:default/3600:client" + std::to_string(key));
        truths_.compare(static_cast<std::size_t>(key), stored, unsure * plan_.traffic.most_cost);
    }
}

}  // namespace rate_limit::world
