#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "t/world/master_watch.h"
#include "t/world/redis.h"
#include "t/world/replica_set.h"
#include "t/world/sentinel.h"
#include "t/worlds/server_plan.h"

namespace rate_limit::world {

/// The servers of one world, as its plan has them.
class Servers {
public:
    /// `plan` outlives it.
    Servers(Events& events, Network& network, const ServerPlan& plan);

    void begin(const Fault<ServerFault>& fault);

    /// All that is wrong with the server is over, also what another fault has done: so nothing lasts for
    /// ever.
    void end(const Fault<ServerFault>& fault);

    /// What all primaries together have stored as used under this key.
    std::int64_t used(const std::string& key);

    /// What failovers, and servers without their data, have lost.
    const LostWrites& lost() const noexcept { return lost_; }

private:
    /// A replica set, and the sentinels' view of it.
    struct Set {
        std::unique_ptr<ReplicaSet> servers;
        std::unique_ptr<MasterWatch> watch;  // null: no sentinel watches it
        Micros lag;
    };

    void begin_on_link(const Fault<ServerFault>& fault, Link& link);
    void begin_on_state(const Fault<ServerFault>& fault, ServerState& state);
    void begin_on_process(const Fault<ServerFault>& fault, Redis& server);
    void begin_on_replication(const Fault<ServerFault>& fault);
    void begin_on_sentinel(const Fault<ServerFault>& fault);
    void fail_over(const Fault<ServerFault>& fault, Set& set);
    void tell_sentinels(Set& set, std::uint64_t bits);
    void heal(Redis& server);
    void heal_set(Set& set);
    Set& set_of(const Redis& server);

    Events& events_;
    LostWrites lost_;
    std::vector<std::unique_ptr<Redis>> servers_;
    std::vector<std::unique_ptr<Sentinel>> sentinels_;
    std::vector<bool> deaf_;  // which sentinels do not learn anything
    std::vector<Set> sets_;
};

}  // namespace rate_limit::world
