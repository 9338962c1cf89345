#include "t/worlds/strands.h"

#include <algorithm>
#include <string>

#include "core/bucket/bucket_tokens.h"
#include "limiter/charges/backlog.h"
#include "limiter/store_conf.h"

namespace rate_limit::world {

namespace {

std::string describe(const DebtRecord& debt) {
    return "a note of kind " + std::to_string(static_cast<int>(debt.kind)) + " with " +
           std::to_string(debt.charges()) + " charges until " + std::to_string(debt.reset);
}

/// Notes of workers in the records of windows. Tokens of a bucket die by themselves; what is noted of
/// a window that has ended counts for nothing, and leaves when its place is needed.
void check_windows(Machine& machine, const Excuses& excuses, Truths& truths) {
    const Millis now = now_millis();
    machine.zone().windows().for_each([&](const Record& record) {
        const auto window = record.as<WindowRecord>();
        const auto bucket = record.as<BucketRecord>();
        const auto slots = record.as<SlotsRecord>();
        const std::int64_t tokens = at_hand(window) + alive(bucket, fresh_ticks()) + slots_of(slots);
        const std::uint64_t running = window.in_flight + bucket.under_way + slots.running +
                                      record.as<ShareRecord>().running +
                                      static_cast<std::uint64_t>(record.as<PenaltyRecord>().pending);
        const std::uint64_t waiting = window.unanswered + slots.waiting;
        if (record.reset <= now) {
            return;
        }
        if (truths.hold() && (tokens != 0 || running != 0 || (waiting != 0 && !excuses.slots))) {
            truths.fail("all have left, and a window that ends at " + std::to_string(record.reset) + " has " +
                        std::to_string(running) + " requests in flight, " + std::to_string(waiting) +
                        " unanswered charges and " + std::to_string(tokens) + " tokens or slots");
        }
    });
}

/// Counts that stand beside the records.
void check_counts(Machine& machine, Truths& truths) {
    Zone& zone = machine.zone();
    const Configured& configuration = machine.workers().front()->configuration();
    for (const StoreConf* store : configuration.stores) {
        const Routes& routes = store->routes;
        const Route end = routes.has_slots() ? 1 : static_cast<Route>(routes.size());
        for (Route route = 0; route < end; ++route) {
            const std::uint64_t waiting = count_waiting(zone.debt_counts(), routes, route, Routes::all_parts);
            if (waiting != 0) {
                truths.fail("all have left, and " + std::to_string(waiting) +
                            " windows are counted as waiting");
            }
        }
    }
    for (RunningCounts::Column column = 0; column <= configuration.limits.size(); ++column) {
        if (zone.running(column) != 0) {
            truths.fail("all have left, and " + std::to_string(zone.running(column)) +
                        " requests are counted as running");
        }
    }
}

/// Whether some shard, or slot of a cluster, is named by this digest.
bool is_configured(std::uint64_t digest, const Configured& configuration) {
    Route route = 0;
    return std::any_of(configuration.stores.begin(), configuration.stores.end(),
                       [&](const StoreConf* store) { return store->routes.find(digest, route); });
}

}  // namespace

void check_nothing_waits(Machines& machines, Truths& truths) {
    machines.for_each([&truths](Machine& machine) {
        const Configured& configuration = machine.workers().back()->configuration();
        machine.zone().debts().for_each([&](const DebtRecord& debt) {
            if (waits(debt.kind) && is_configured(debt.shard, configuration) && truths.hold()) {
                truths.fail("all is well again, and still waits " + describe(debt));
            }
        });
    });
}

void check_nothing_stays(Machines& machines, const Excuses& excuses, Truths& truths) {
    machines.for_each([&](Machine& machine) {
        for (const auto& worker : machine.workers()) {
            if (worker->is_kept()) {
                truths.fail("a worker is to leave, and something keeps it");
            }
        }
        if (excuses.other_shards) {
            return;
        }
        machine.zone().debts().for_each([&truths](const DebtRecord& debt) {
            if (truths.hold()) {
                truths.fail("all have left, and there is " + describe(debt));
            }
        });
        if (!excuses.killed) {
            machine.workers().front()->loop().turn([&] {
                check_windows(machine, excuses, truths);
                check_counts(machine, truths);
            });
        }
    });
}

}  // namespace rate_limit::world
