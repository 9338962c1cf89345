#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "limiter/charges/losses.h"
#include "redis/reply.h"
#include "t/worlds/machines.h"
#include "t/worlds/plan.h"
#include "t/worlds/truths.h"

namespace rate_limit::world {

/// How much of some keys is in doubt or was told as lost: by so much less or more may be stored than was
/// charged.
struct Uncertain {
    std::int64_t less = 0;
    std::int64_t more = 0;          ///< without reservations
    std::int64_t reservations = 0;  ///< more, of requests that got no answer
};

/// The most that goes back to a window at once: what requests did not cost, or tokens: a batch, or of batches
/// that adapt two, each of a twentieth of the limit at most.
std::int64_t largest_refund(const Plan& plan);

/// Writes that machines tell as lost or in doubt; and what has become of each command, which says how much
/// they may tell.
class ToldLosses {
public:
    /// Both outlive it.
    ToldLosses(const Plan& plan, Machines& machines);

    static constexpr std::size_t all_regions = static_cast<std::size_t>(-1);

    /// The sums that the machines of the region have counted for the shard of this key, or for all shards
    /// where the limit's windows may be in more than one place.
    Uncertain uncertain(const std::string& limit, bool in_one_place, std::size_t key, std::size_t region);
    Uncertain uncertain_of_all(std::size_t region = all_regions);

    /// A request comes that may charge a limit.
    void request_begins() noexcept { ++requests_; }

    /// Null: it has got no answer.
    void note(std::string_view command, const Reply* reply);

    /// At the end: machines have told no more than has happened.
    void check(Truths& truths);

private:
    std::int64_t most_writes(std::string_view command) const;
    Uncertain uncertain_of(const std::string& shard, std::size_t region);
    std::int64_t told(Loss loss, const std::string& shard, std::size_t region = all_regions);
    std::int64_t told(Loss loss);

    const Plan& plan_;
    Machines& machines_;
    bool may_expire_ = false;      // some window may end, or some bucket be full, while the world lasts
    std::int64_t requests_ = 0;    // times the limits that each may charge
    std::int64_t unanswered_ = 0;  // charges, refunds and reservations that may be stored
    std::int64_t refused_ = 0;     // and those in commands that were answered by another error
};

}  // namespace rate_limit::world
