#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "t/worlds/machines.h"
#include "t/worlds/plan.h"
#include "t/worlds/servers.h"

namespace rate_limit::world {

/// How well each machine of a world can reach each server to read there, since when, and how long that takes.
class Reach {
public:
    static constexpr Micros never = std::numeric_limits<Micros>::max() / 4;

    enum class Health : unsigned char {
        well,  ///< it answers as quickly as it is near
        dead,  ///< it answers nothing
        odd,   ///< anything else: slowly, or by errors, or nobody can say
    };

    /// A server, for one machine.
    struct State {
        Health health = Health::well;
        bool replica = false;  ///< in truth
        bool named = false;    ///< as a replica, by what the machine was told
        bool slow = false;   ///< it was not well before, or the machine's workers were not: answers came late
        Micros since = 0;    ///< all of that
        Micros certain = 0;  ///< nothing is sure of connections before then
        Micros before = never;                ///< since when it was otherwise before that
        Health health_before = Health::well;  ///< and how it was then
    };

    /// All outlive it.
    Reach(const Events& events, Network& network, const Plan& plan, Servers& servers, Machines& machines);

    /// To be called every few milliseconds, and as each fault begins and ends.
    void look();

    /// A fault begins, or ends.
    void touch(const Fault<ServerFault>& fault);
    void touch(const Fault<MachineFault>& fault);

    const State& state(std::size_t machine, std::size_t server) const { return states_[machine][server]; }

    /// Before then nobody knows which servers the set of this number has, or which keys.
    Micros settled(std::size_t set) const { return settled_[set]; }

    /// Before then the machine's workers did not all run.
    Micros ran_since(std::size_t machine) const { return ran_since_[machine]; }

    /// The least time from a question to its answer, where nothing is wrong.
    Micros round_trip(std::size_t machine, std::size_t server) const;

    /// So much longer it may take.
    Micros jitter(std::size_t machine, std::size_t server) const;

    struct Members {
        std::size_t first;
        std::size_t end;
    };

    /// The numbers of the servers of a set.
    Members members_of(std::size_t set) const { return sets_[set]; }
    std::size_t set_of(std::size_t server) const;

private:
    struct Names {
        std::uint32_t machine =
            0;  // the number of its first process: a machine that starts again knows nothing
        std::uint64_t generation = 0;
        std::vector<std::string> replicas;
    };

    Health health(Redis& server, const Path& path, bool has_role) const;
    void read_names(Machine& machine);
    bool is_named(std::size_t machine, const std::string& address) const;
    void disturb(std::size_t server, Micros until);

    const Events& events_;
    Network& network_;
    const Plan& plan_;
    Servers& servers_;
    Machines& machines_;
    std::vector<Members> sets_;
    std::vector<std::vector<State>> states_;  // by machine and server
    std::vector<Micros> settled_;             // by set
    std::vector<Micros> ran_since_;           // by machine
    std::vector<Names> names_;                // by machine, where others name the servers
};

}  // namespace rate_limit::world
