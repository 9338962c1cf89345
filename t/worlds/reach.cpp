#include "t/worlds/reach.h"

#include <algorithm>

#include "core/topology/shared_topology.h"
#include "core/topology/topology.h"

namespace rate_limit::world {

namespace {

/// By then all sentinels, or all nodes of a cluster, have been told of a new primary, and those that follow
/// it do.
constexpr Micros told_in = 6 * second;

/// By then the name of a server that has moved leads to it, and it is connected.
constexpr Micros found_in = 4 * second;

}  // namespace

Reach::Reach(const Events& events, Network& network, const Plan& plan, Servers& servers, Machines& machines)
    : events_(events),
      network_(network),
      plan_(plan),
      servers_(servers),
      machines_(machines),
      states_(plan.machines.clocks.size(), std::vector<State>(plan.servers.count_servers())),
      settled_(plan.servers.sets.size()),
      ran_since_(plan.machines.clocks.size()),
      names_(plan.machines.clocks.size()) {
    std::size_t first = 0;
    for (const ServerPlan::Set& set : plan.servers.sets) {
        sets_.push_back({first, first + set.members});
        first += set.members;
    }
}

std::size_t Reach::set_of(std::size_t server) const {
    const auto found = std::find_if(sets_.begin(), sets_.end(),
                                    [server](const Members& members) { return server < members.end; });
    return static_cast<std::size_t>(found - sets_.begin());
}

Micros Reach::round_trip(std::size_t machine, std::size_t server) const {
    return network_.path(machine, address_of_server(server)).round_trip(Link{});
}

Micros Reach::jitter(std::size_t machine, std::size_t server) const {
    return 2 * network_.path(machine, address_of_server(server)).jitter;
}

Reach::Health Reach::health(Redis& server, const Path& path, bool has_role) const {
    const Link& link = server.link();
    if (!server.runs() || path.parted || link.silent || link.silent_there || link.silent_back) {
        return Health::dead;
    }
    const Link usual;
    const bool as_usual = link.there == usual.there && link.back == usual.back && link.jitter_there == 0 &&
                          link.jitter_back == 0 && link.piece == 0 && !link.refuses;
    const ServerState& state = server.server().state;
    const bool answers = !state.loading && !state.busy && state.forbidden.empty() && state.link_up &&
                         (!state.cluster || (!state.cluster->down && state.cluster->unstable.empty()));
    return as_usual && answers && has_role ? Health::well : Health::odd;
}

void Reach::look() {
    machines_.for_each([this](Machine& machine) { read_names(machine); });
    for (std::size_t set = 0; set < sets_.size(); ++set) {
        ReplicaSet& members = servers_.set(set);
        for (std::size_t number = sets_[set].first; number < sets_[set].end; ++number) {
            Redis& server = *servers_.all()[number];
            const bool primary = &members.primary() == &server;
            const bool replica = !primary && members.follows(server);
            const bool has_role =
                server.server().state.role == (replica ? ServerRole::replica : ServerRole::primary);
            for (std::size_t machine = 0; machine < states_.size(); ++machine) {
                const Path& path = network_.path(machine, server.address());
                const Health now = health(server, path, has_role && (primary || replica));
                State& state = states_[machine][number];
                const bool named = is_named(machine, server.address());
                if (state.health != now || state.replica != replica || state.named != named) {
                    const bool slow = state.slow || state.health != Health::well;
                    state = {now,           replica,       named,       slow,
                             events_.now(), state.certain, state.since, state.health};
                }
            }
        }
    }
}

/// A configuration that names servers is the only one to do so.
bool Reach::is_named(std::size_t machine, const std::string& address) const {
    const std::vector<std::string>& names = names_[machine].replicas;
    return !plan_.servers.stores.front().discovers() ||
           std::find(names.begin(), names.end(), address) != names.end();
}

void Reach::read_names(Machine& machine) {
    if (machine.topologies().all().empty()) {
        return;
    }
    const SharedTopology& shared = machine.topologies().all().front();
    Names& names = names_[machine.number()];
    if (names.machine == machine.pid() && names.generation == shared.generation()) {
        return;
    }
    std::string bytes;
    Topology topology;
    names = {machine.pid(), 0, {}};
    if (shared.read(bytes, names.generation) && decode(bytes, topology)) {
        for (const Group& group : topology.groups) {
            for (const Endpoint& replica : group.replicas) {
                names.replicas.push_back(replica.text());
            }
        }
    }
}

/// Its connections are not what they were, until then.
void Reach::disturb(std::size_t server, Micros until) {
    for (std::vector<State>& of_machine : states_) {
        State& state = of_machine[server];
        state.certain = std::max(state.certain, until);
    }
}

void Reach::touch(const Fault<ServerFault>& fault) {
    const Micros now = events_.now();
    const std::size_t set = set_of(fault.where);
    switch (fault.kind) {
        case ServerFault::failover:
        case ServerFault::hand_over:
        case ServerFault::death:
        case ServerFault::freeze:  // other nodes of a cluster may say that it is down
            for (std::size_t each = 0; each < settled_.size(); ++each) {
                const bool concerns = each == set || plan_.servers.slot_owners != 0;
                settled_[each] = concerns ? std::max(settled_[each], now + told_in) : settled_[each];
            }
            break;
        case ServerFault::lost_sentinel:
        case ServerFault::down:
        case ServerFault::deaf:
            for (Micros& settled : settled_) {
                settled = std::max(settled, fault.at + fault.life + told_in);
            }
            break;
        case ServerFault::slot_move:  // it lasts as long as there are keys
            settled_.assign(settled_.size(), never);
            break;
        case ServerFault::cut:  // it comes with the bytes that come next, whenever these do
            disturb(fault.where, never);
            break;
        case ServerFault::moved:
            disturb(fault.where, now + found_in);
            break;
        case ServerFault::reset:
            disturb(fault.where, now);
            break;
        default:
            break;
    }
}

void Reach::touch(const Fault<MachineFault>& fault) {
    if (fault.kind != MachineFault::stall && fault.kind != MachineFault::change) {
        return;
    }
    ran_since_[fault.where] = std::max(ran_since_[fault.where], fault.at + fault.life);
    for (State& state : states_[fault.where]) {
        state.certain = std::max(state.certain, fault.at + fault.life);
        state.slow = true;
    }
}

}  // namespace rate_limit::world
