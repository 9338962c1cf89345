#include "t/worlds/random_world.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "core/machine/records/debt_record.h"
#include "t/worlds/strands.h"

namespace rate_limit::world {

namespace {

/// By then every fault is over.
constexpr Micros over_in = 6'000'000;

/// The time to heal in: a third before clients use up what there is, a sixth before workers leave, half after
/// that.
constexpr Micros heals_in = 60'000'000;

}  // namespace

RandomWorld::RandomWorld(const Plan& plan, std::ostream* log)
    : plan_(plan),
      log_(events_, log),
      servers_(events_, network_, plan_.servers, plan_.sites),
      machines_(events_, network_, plan_),
      losses_(plan_, machines_),
      watch_(truths_, log_),
      far_(events_, network_, plan_, servers_, machines_, truths_),
      turns_(events_, plan_, losses_, far_, truths_, log_),
      traffic_(events_, plan_, machines_, servers_, losses_, turns_, far_, truths_, log_),
      operators_(events_, plan_, machines_, turns_, log_) {
    network_.seed(plan_.seed);
    place();
    for (const auto& server : servers_.all()) {
        watch_.watch(server->server(), server->address());
    }
    servers_.ask_machines([this](std::size_t region, const std::string& former, const std::string& primary) {
        return machines_.all_know(region, former, primary);
    });
}

/// The network between the machines and all that they speak to.
void RandomWorld::place() {
    const SitePlan& sites = plan_.sites;
    const std::vector<std::string> addresses = plan_.partable();
    const std::size_t servers = plan_.servers.count_servers();
    for (std::size_t machine = 0; machine < plan_.machines.clocks.size(); ++machine) {
        const std::size_t here = sites.of_machine(machine);
        for (std::size_t i = 0; i < addresses.size(); ++i) {
            const std::size_t there = i < servers ? sites.of_server(i) : sites.of_sentinel(i - servers);
            Path& path = network_.path(machine, addresses[i]);
            path.there = sites.time(here, there);
            path.back = sites.time(there, here);
            path.jitter = sites.jitter_between(here, there);
        }
    }
}

std::vector<std::string> RandomWorld::run() {
    for (const LimitSetup& limit : plan_.setups.front().limits) {
        log_.add(limit.name, "is configured: ", limit.rate, limit.running ? "running" : limit.mode, "burst",
                 limit.burst, "in", limit.store);
    }
    set_faults();
    pass(plan_.lasts + over_in);
    machines_.put_right(users_);
    pass(heals_in / 3 - over_in);
    use_up_and_return();
    pass(heals_in / 6);
    if (truths_.hold()) {
        check_nothing_waits(machines_, truths_);
        turns_.check_seen();
        traffic_.check_decided();
        check_operators();
    }
    if (truths_.hold()) {
        traffic_.come_last();
    }
    pass(second / 10);
    machines_.leave();
    pass(heals_in / 2);
    if (truths_.hold()) {
        const std::vector<LimitSetup>& limits = plan_.traffic.limits;
        const bool slots =
            std::any_of(limits.begin(), limits.end(), [](const LimitSetup& limit) { return limit.running; });
        const MachinePlan& machines = plan_.machines;
        check_nothing_stays(machines_,
                            {machines.has(MachineFault::change), machines.has(MachineFault::kill), slots},
                            truths_);
        compare_at_the_end();
        losses_.check(truths_);
    }
    return truths_.failures();
}

/// Machines go on with what they knew where a store has lost all.
void RandomWorld::check_operators() {
    const LostWrites::Sums lost = servers_.lost().of(Operators::stored_key);
    const bool any_lost = lost.taken != 0 || lost.given_back != 0;
    if (!any_lost || servers_.has(Operators::stored_key)) {
        operators_.check(any_lost, truths_);
    }
}

void RandomWorld::use_up_and_return() {
    // Slots that a machine has used for a moment go back at its second look after that.
    constexpr Micros settles = 3 * second;
    if (truths_.hold()) {
        traffic_.use_up();
    }
    pass(settles);
    if (truths_.hold()) {
        traffic_.ask_for_more();
    }
    pass(Traffic::longest_retry + settles);
}

/// In small parts, until something does not hold.
void RandomWorld::pass(Micros time) {
    constexpr Micros part = 10'000;
    for (Micros passed = 0; passed < time && truths_.hold(); passed += part) {
        events_.pass(std::min(part, time - passed));
        far_.look();
    }
}

void RandomWorld::set_faults() {
    const auto set = [this](const auto& faults, auto begin, auto end) {
        for (const auto& fault : faults) {
            events_.at(fault.at, [this, &fault, begin] {
                log_.add("begins: ", describe(fault));
                begin(fault);
                far_.touch(fault);
            });
            events_.at(fault.at + fault.life, [this, &fault, end] {
                log_.add("ends: ", describe(fault));
                end(fault);
                far_.touch(fault);
            });
        }
    };
    set(
        plan_.servers.faults, [this](const auto& fault) { servers_.begin(fault); },
        [this](const auto& fault) { servers_.end(fault); });
    set(
        plan_.machines.faults, [this](const auto& fault) { machines_.begin(fault, users_); },
        [this](const auto& fault) { machines_.end(fault); });
}

/// Charges and refunds that wait, window by window, for shards that are not configured any more.
std::map<std::string, Uncertain> RandomWorld::waiting(std::size_t region) {
    std::map<std::string, Uncertain> sums;
    machines_.for_each([this, &sums, region](Machine& machine) {
        if (plan_.sites.region_of(machine.number()) != region) {
            return;
        }
        machine.zone().debts().for_each([&sums](const DebtRecord& debt) {
            if (waits(debt.kind)) {
                Uncertain& sum = sums[std::string(debt.key())];
                (debt.kind == DebtKind::charges ? sum.less : sum.more) += debt.cost();
            }
        });
    });
    return sums;
}

/// No more of a key is missing than was told as lost. Returns how much is missing of all.
std::int64_t RandomWorld::compare_all_of(std::size_t region) {
    std::map<std::string, Uncertain> waits = waiting(region);
    std::int64_t missing = 0;
    for (LimitTruths& limit : traffic_.limits()) {
        for (std::int64_t key = 0; limit.is_comparable(region) && key < plan_.traffic.keys; ++key) {
            const Account account{static_cast<std::size_t>(key), region};
            const std::string window = limit.window_of(account.key);
            Uncertain all = losses_.uncertain(limit.name(), limit.is_in_one_place(), account.key, region);
            all.less += waits[window].less;
            all.more += waits[window].more;
            const std::int64_t less = limit.compare(account, servers_.window(window, region), all);
            missing += std::max<std::int64_t>(0, less - waits[window].less);
        }
    }
    return missing;
}

/// Nor is of all keys together.
void RandomWorld::compare_at_the_end() {
    const Uncertain of_all = losses_.uncertain_of_all();
    std::int64_t missing = 0;
    for (std::size_t region = 0; region < plan_.sites.regions(); ++region) {
        missing += compare_all_of(region);
    }
    if (missing > of_all.less) {
        truths_.fail(std::to_string(missing) + " of all keys together are not stored, and " +
                     std::to_string(of_all.less) + " are uncertain");
    }
}

}  // namespace rate_limit::world
