#include "t/worlds/penalty_truths.h"

#include <algorithm>
#include <string>

#include "limiter/loop.h"

namespace rate_limit::world {

namespace {

/// By then a penalty is known to the store and all its replicas, and an answer that none runs is too old.
constexpr Micros is_known_in = 3 * second;

}  // namespace

PenaltyTruths::PenaltyTruths(const Plan& plan, Truths& truths)
    : plan_(plan),
      truths_(truths),
      apart_(plan.machines.apart(plan.lasts + 60 * second) + plan.servers.gained() + 2 * second),
      all_learn_(plan.servers.faults.empty() && plan.machines.faults.empty() && !plan.sites.several()) {}

void PenaltyTruths::decided(const ClientRequest& request, std::size_t part, std::size_t number,
                            const Claim& claim, Micros begun, Micros now) {
    const Micros lasts = plan_.traffic.limits[number].penalty * 1000;
    const AppliedLimit& applied = request.applied(part);
    if (lasts == 0 || applied.penalty == nullptr) {
        return;
    }
    std::vector<Begin>& begins = begins_[{number, claim.key}];
    const PenaltyPart& penalty = *applied.penalty;
    if (penalty.until != 0 && (penalty.until - now_millis()) * 1000 > lasts + apart_) {
        fail(number, claim.key, "a penalty lasts too long, until " + std::to_string(penalty.until));
    }
    if (penalty.begun) {
        begins.push_back({claim.memory, now});
    } else if (applied.verdict.outcome == Outcome::passed) {
        for (const Begin& begin : begins) {
            check_passed(begin, begins, number, claim, begun, now);
        }
    }
}

/// One that began before is the store's: the later one ends with that.
bool PenaltyTruths::is_another_there(const Begin& begin, const std::vector<Begin>& all, Micros lasts) const {
    return std::any_of(all.begin(), all.end(), [&](const Begin& other) {
        return other.memory != begin.memory && other.at <= begin.at + is_known_in &&
               other.at + lasts + apart_ >= begin.at;
    });
}

void PenaltyTruths::check_passed(const Begin& begin, const std::vector<Begin>& all, std::size_t number,
                                 const Claim& claim, Micros begun, Micros now) {
    const LimitSetup& limit = plan_.traffic.limits[number];
    const Micros lasts = limit.penalty * 1000;
    const bool here = begin.memory == claim.memory;
    if (begun <= begin.at || now + apart_ >= begin.at + lasts || is_another_there(begin, all, lasts)) {
        return;
    }
    if (here) {
        fail(number, claim.key, "passes, though its machine began a penalty at " + std::to_string(begin.at));
    } else if (all_learn_ && limit.store != "local" && begun > begin.at + is_known_in) {
        fail(number, claim.key,
             "passes, though another machine began a penalty at " + std::to_string(begin.at));
    }
}

void PenaltyTruths::fail(std::size_t number, std::size_t key, const std::string& what) {
    truths_.fail("l" + std::to_string(number) + ", key " + std::to_string(key) + ": " + what);
}

}  // namespace rate_limit::world
