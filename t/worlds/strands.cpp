#include "t/worlds/strands.h"

#include <string>

namespace rate_limit::world {

namespace {

std::string describe(const DebtRecord& debt) {
    return "a note of kind " + std::to_string(static_cast<int>(debt.kind)) + " with " +
           std::to_string(debt.charges) + " charges until " + std::to_string(debt.reset);
}

}  // namespace

void check_nothing_waits(Machines& machines, Truths& truths) {
    machines.for_each([&truths](Machine& machine) {
        machine.zone().debts().for_each([&truths](const DebtRecord& debt) {
            if (waits(debt.kind) && truths.hold()) {
                truths.fail("all is well again, and still waits " + describe(debt));
            }
        });
    });
}

void check_nothing_stays(Machines& machines, bool same_shards, Truths& truths) {
    machines.for_each([same_shards, &truths](Machine& machine) {
        for (const auto& worker : machine.workers()) {
            if (worker->is_kept()) {
                truths.fail("a worker is to leave, and something keeps it");
            }
        }
        bool told = false;
        machine.zone().debts().for_each([&](const DebtRecord& debt) {
            if (!told && same_shards) {
                truths.fail("all have left, and there is " + describe(debt));
            }
            told = true;
        });
    });
}

}  // namespace rate_limit::world
