#include "t/worlds/random_world.h"

#include <algorithm>
#include <set>
#include <utility>

#include "limiter/charges/losses.h"
#include "limiter/counters.h"
#include "t/worlds/strands.h"

namespace rate_limit::world {

namespace {

/// By then every fault is over.
constexpr Micros over_in = 6'000'000;

/// By then every connection is made again, every deadline is over, and every worker has left.
constexpr Micros heals_in = 60'000'000;

/// Charges that are lost can only leave less stored than was charged.
bool is_of_charges(Loss loss) {
    return loss == Loss::charges_in_doubt || loss == Loss::expired || loss == Loss::no_room ||
           loss == Loss::no_memory;
}

}  // namespace

RandomWorld::RandomWorld(const Plan& plan, std::ostream* log)
    : plan_(plan),
      log_(events_, log),
      servers_(events_, network_, plan_.servers),
      machines_(events_, plan_.machines, plan_.setups),
      watch_(log_),
      turns_(events_, plan_, truths_),
      traffic_(events_, plan_, machines_, servers_.lost(), turns_, truths_, log_) {
    for (const auto& server : servers_.all()) {
        watch_.watch(server->server(), server->address());
    }
    servers_.ask_machines([this](const std::string& former, const std::string& primary) {
        return machines_.all_know(former, primary);
    });
}

std::vector<std::string> RandomWorld::run() {
    for (const LimitSetup& limit : plan_.setups.front().limits) {
        log_.add(limit.name, "is configured: ", limit.rate, limit.running ? "running" : limit.mode, "burst",
                 limit.burst, "in", limit.store);
    }
    set_faults();
    pass(plan_.lasts + over_in);
    machines_.put_right(traffic_);
    pass(heals_in / 3 - over_in);
    use_up_and_return();
    pass(heals_in / 6);
    if (truths_.hold()) {
        check_nothing_waits(machines_, truths_);
        turns_.check_seen();
    }
    machines_.leave();
    pass(heals_in / 2);
    if (truths_.hold()) {
        check_nothing_stays(machines_, !plan_.machines.has(MachineFault::change), truths_);
        compare_at_the_end();
    }
    return truths_.failures();
}

void RandomWorld::use_up_and_return() {
    constexpr Micros settles = 2 * second;
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

/// How many charges, refunds and tokens nobody can be sure of, as the machines have counted them.
Uncertain RandomWorld::uncertain() {
    std::set<std::pair<std::string, std::string>> shards;
    for (const Setup& setup : plan_.setups) {
        for (const StoreSetup& store : setup.stores) {
            for (const ShardSetup& shard : store.shards) {
                shards.emplace(store.name, shard.name);
            }
            if (!store.seeds.empty()) {
                shards.emplace(store.name, "cluster");
            }
        }
    }
    Uncertain sums;
    machines_.for_each([&](Machine& machine) {
        for (const auto& [store, shard] : shards) {
            const Counters<Loss> losses(machine.zone().counters(), {store, shard, {}});
            for (std::size_t i = 0; i < loss_count; ++i) {
                const auto loss = static_cast<Loss>(i);
                const auto most =
                    static_cast<std::int64_t>(losses.own_count(loss)) * 2 * plan_.traffic.most_cost;
                sums.less += most;
                sums.more += is_of_charges(loss) ? 0 : most;
            }
        }
    });
    return sums;
}

void RandomWorld::compare_at_the_end() {
    const Uncertain unsure = uncertain();
    for (LimitTruths& limit : traffic_.limits()) {
        for (std::int64_t key = 0; limit.lasts() && key < plan_.traffic.keys; ++key) {
            const std::int64_t stored =
                servers_.used("rl:" + limit.name() + "/3600:client" + std::to_string(key));
            limit.compare(static_cast<std::size_t>(key), stored, unsure);
        }
    }
}

}  // namespace rate_limit::world
