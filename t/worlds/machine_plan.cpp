#include "t/worlds/machine_plan.h"

#include <algorithm>
#include <array>

namespace rate_limit::world {

namespace {

/// By then a world is over, in seconds after the last request.
constexpr Micros heals_within = 120;

WallClock draw_clock(Chance& chance) {
    WallClock clock;
    if (chance.percent(30)) {
        clock.ahead = chance.between(-2'000'000, 2'000'000);
        clock.drift = chance.between(-500, 500);
    }
    return clock;
}

}  // namespace

const char* name_of(MachineFault kind) noexcept {
    constexpr std::array<const char*, machine_faults> names{"leave",  "kill",   "crash",     "stall",
                                                            "reload", "change", "clock set", "partition"};
    return names[static_cast<std::size_t>(kind)];
}

Micros step_of(const Fault<MachineFault>& fault) noexcept {
    return static_cast<Micros>(fault.bits % 20'000'000) - 10'000'000;
}

MachinePlan::MachinePlan(Chance chance, Micros lasts, std::size_t sites)
    : workers(static_cast<std::size_t>(chance.between(1, 2))) {
    const auto least = static_cast<std::int64_t>(sites);
    const std::int64_t machines = chance.between(least, sites > 1 ? least + 1 : 3);
    for (std::int64_t i = 0; i < machines; ++i) {
        clocks.push_back(draw_clock(chance));
    }
    faults = draw_faults<MachineFault>(chance, {0, machine_kinds_drawn_together}, sites > 1 ? 3 : 10,
                                       clocks.size(), lasts);
}

void MachinePlan::add_later(Chance chance, Micros lasts) {
    if (!chance.percent(40)) {
        return;
    }
    const auto more = draw_faults<MachineFault>(chance, {machine_kinds_drawn_together, machine_faults}, 5,
                                                clocks.size(), lasts);
    faults.insert(faults.end(), more.begin(), more.end());
}

void MachinePlan::add_late_clocks(Chance chance) {
    const Micros before = chance.percent(25) ? chance.one_of(std::array<Micros, 3>{1'000, 5'000, 50'000}) : 0;
    for (WallClock& clock : clocks) {
        clock.read_before = before;
    }
}

bool MachinePlan::clocks_agree() const noexcept {
    return !has(MachineFault::clock_set) &&
           std::all_of(clocks.begin(), clocks.end(),
                       [](const WallClock& clock) { return clock.ahead == 0 && clock.drift == 0; });
}

Micros MachinePlan::apart(Micros lasts) const noexcept {
    Micros first = 0;
    Micros last = 0;
    for (std::size_t i = 0; i < clocks.size(); ++i) {
        const Micros drift = (lasts / second + heals_within) * clocks[i].drift;
        Micros least = clocks[i].ahead + std::min<Micros>(0, drift);
        Micros most = clocks[i].ahead + std::max<Micros>(0, drift);
        for (const Fault<MachineFault>& fault : faults) {
            const bool set = fault.kind == MachineFault::clock_set && fault.where == i;
            (step_of(fault) < 0 ? least : most) += set ? step_of(fault) : 0;
        }
        first = i == 0 ? least : std::min(first, least);
        last = i == 0 ? most : std::max(last, most);
    }
    return last - first;
}

Micros MachinePlan::gained(Micros lasts) const noexcept {
    Micros sum = 0;
    for (const Fault<MachineFault>& fault : faults) {
        sum += fault.kind == MachineFault::clock_set ? std::max<Micros>(0, step_of(fault)) : 0;
    }
    Micros drift = 0;
    for (const WallClock& clock : clocks) {
        drift = std::max(drift, clock.drift);
    }
    return sum + lasts / second * drift + clocks.front().read_before;
}

bool MachinePlan::has(MachineFault kind) const noexcept {
    return std::any_of(faults.begin(), faults.end(),
                       [kind](const auto& fault) { return fault.kind == kind; });
}

}  // namespace rate_limit::world
