#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "t/world/cluster.h"
#include "t/world/master_watch.h"
#include "t/world/redis.h"
#include "t/world/replica_set.h"
#include "t/worlds/hosts.h"
#include "t/worlds/sentinels.h"
#include "t/worlds/server_plan.h"

namespace rate_limit::world {

/// The servers of one world, as its plan has them.
class Servers {
public:
    /// Whether all machines of the region know that `primary` has taken the place of `former`; addresses.
    using AllKnow =
        std::function<bool(std::size_t region, const std::string& former, const std::string& primary)>;

    /// `plan` and `sites` outlive it.
    Servers(Events& events, Network& network, const ServerPlan& plan, const SitePlan& sites);

    /// To be set before the world begins.
    void ask_machines(AllKnow all_know) { all_know_ = std::move(all_know); }

    void begin(const Fault<ServerFault>& fault);

    /// All that is wrong with the server and the others of its set is over, also what another fault has done:
    /// so nothing lasts for ever. All sentinels are well again, and all nodes of a cluster know its map.
    void end(const Fault<ServerFault>& fault);

    /// The sum that all primaries of the region together have stored as used under this key.
    Window window(const std::string& key, std::size_t region = 0);

    /// How much all members of the key's set have stored as used, each at least: whichever of them is asked.
    std::int64_t known_to_all(const std::string& key);

    /// Whether some primary has this key.
    bool has(const std::string& key);

    const std::vector<std::unique_ptr<Redis>>& all() const noexcept { return servers_; }

    /// The replica set of this number of the plan.
    ReplicaSet& set(std::size_t number) noexcept { return *sets_[number].servers; }

    /// The writes that failovers, and servers without their data, have lost.
    const LostWrites& lost() const noexcept { return lost_; }

private:
    /// A replica set, and the sentinels' view of it.
    struct Set {
        std::unique_ptr<ReplicaSet> servers;
        std::unique_ptr<MasterWatch> watch;  // null: no sentinel watches it
        Micros lag;
        std::size_t region;
        int histories = 0;  // how often another server has become its primary
    };

    void begin_on_link(const Fault<ServerFault>& fault, Link& link);
    void begin_on_state(const Fault<ServerFault>& fault, ServerState& state);
    void begin_on_process(const Fault<ServerFault>& fault, Redis& server);
    void begin_on_replication(const Fault<ServerFault>& fault);
    void begin_on_cluster(const Fault<ServerFault>& fault);
    void make_sets(const ServerPlan& plan);
    void move(const Fault<ServerFault>& fault);
    void name_data(Set& set);
    Redis* find_successor(Set& set);
    void fail_over(const Fault<ServerFault>& fault, Set& set);
    void replace_in_cluster(const Fault<ServerFault>& fault, Set& set, Redis& next);
    void replace_dead(Set& set, Redis& former, Redis& next, std::uint64_t bits);
    void tell_nodes(std::uint64_t bits);
    void go_on_moving(std::uint64_t bits);
    bool is_moving(const ReplicaSet& set) const noexcept;
    void await_knowledge(Set& set, Redis& former, Redis& next, Micros known_since);
    bool is_told_of(const Set& set, const Redis& former) const;
    void heal(Redis& server);
    void heal_set(Set& set);
    Set& set_of(const Redis& server);
    std::size_t site_of(const Redis& server) const;
    Micros lag_to(const Set& set, const Redis& replica) const;

    Events& events_;
    Network& network_;
    const SitePlan& sites_;
    Hosts hosts_;
    LostWrites lost_;
    std::vector<std::unique_ptr<Redis>> servers_;
    Sentinels sentinels_;
    std::vector<bool> deaf_nodes_;  // which servers do not learn anything
    std::set<const Redis*> gone_;   // never run again
    std::vector<Set> sets_;
    std::unique_ptr<Cluster> cluster_;  // null: there is none
    AllKnow all_know_;
};

}  // namespace rate_limit::world
