#include "t/worlds/servers.h"

#include <algorithm>

namespace rate_limit::world {

namespace {

constexpr Micros second = 1'000'000;

/// A replica of the set that could become its primary; null: there is none.
Redis* find_successor(ReplicaSet& set) {
    for (Redis* member : set.members()) {
        if (member != &set.primary() && set.follows(*member) && member->runs()) {
            return member;
        }
    }
    return nullptr;
}

}  // namespace

Servers::Servers(Events& events, Network& network, const ServerPlan& plan) : events_(events) {
    for (const std::string& address : plan.sentinels) {
        sentinels_.push_back(std::make_unique<Sentinel>(network, address));
    }
    deaf_.resize(sentinels_.size());
    for (const ServerPlan::Set& each : plan.sets) {
        std::vector<Redis*> members;
        for (std::size_t i = 0; i < each.members; ++i) {
            servers_.push_back(
                std::make_unique<Redis>(events, network, address_of_server(servers_.size()), each.ahead));
            members.push_back(servers_.back().get());
        }
        Set set{std::make_unique<ReplicaSet>(members, lost_), nullptr, each.lag};
        if (!sentinels_.empty()) {
            std::vector<Sentinel*> sentinels;
            for (const auto& sentinel : sentinels_) {
                sentinels.push_back(sentinel.get());
            }
            const std::string& name = plan.stores.front().shards[sets_.size()].master;
            set.watch = std::make_unique<MasterWatch>(name, *set.servers, sentinels);
        }
        sets_.push_back(std::move(set));
        heal_set(sets_.back());
    }
}

Servers::Set& Servers::set_of(const Redis& server) {
    return *std::find_if(sets_.begin(), sets_.end(),
                         [&server](const Set& set) { return set.servers->has(server); });
}

void Servers::begin(const Fault<ServerFault>& fault) {
    Redis& server = *servers_[fault.where];
    begin_on_link(fault, server.link());
    begin_on_state(fault, server.server().state);
    begin_on_process(fault, server);
    begin_on_replication(fault);
    begin_on_sentinel(fault);
}

void Servers::begin_on_link(const Fault<ServerFault>& fault, Link& link) {
    switch (fault.kind) {
        case ServerFault::slow:
            link.there += static_cast<Micros>(fault.bits % second);
            link.back += static_cast<Micros>(fault.bits / second % second);
            break;
        case ServerFault::jitter:
            link.jitter_there = static_cast<Micros>(fault.bits % 10'000);
            link.jitter_back = static_cast<Micros>(fault.bits / 10'000 % 10'000);
            break;
        case ServerFault::pieces:
            link.piece = 1 + fault.bits % 40;
            break;
        case ServerFault::silent:
            link.silent = true;
            break;
        case ServerFault::half_open:
            (fault.bits % 2 == 0 ? link.silent_there : link.silent_back) = true;
            break;
        case ServerFault::refused:
            link.refuses = true;
            break;
        default:
            break;
    }
}

void Servers::begin_on_state(const Fault<ServerFault>& fault, ServerState& state) {
    switch (fault.kind) {
        case ServerFault::loading:
            state.loading = true;
            break;
        case ServerFault::oom:
            state.out_of_memory = true;
            break;
        case ServerFault::misconf:
            state.cannot_save = true;
            break;
        case ServerFault::no_replicas:
            state.lacks_replicas = true;
            break;
        case ServerFault::read_only:
            state.role = ServerRole::replica;
            break;
        case ServerFault::busy:
            state.busy = true;
            break;
        default:
            break;
    }
}

void Servers::begin_on_process(const Fault<ServerFault>& fault, Redis& server) {
    switch (fault.kind) {
        case ServerFault::reset:
            server.reset_connections();
            break;
        case ServerFault::cut:
            server.reset_connections_within(fault.bits);
            break;
        case ServerFault::pause:
            server.pause();
            break;
        case ServerFault::restart:
        case ServerFault::data_loss:
            server.kill(true);
            break;
        case ServerFault::vanish:
            server.link().silent = true;
            server.vanish();
            break;
        case ServerFault::flush:
            server.server().forget_scripts();
            break;
        default:
            break;
    }
}

void Servers::begin_on_replication(const Fault<ServerFault>& fault) {
    Redis& server = *servers_[fault.where];
    Set& set = set_of(server);
    Replication* replication = set.servers->replication_to(server);
    if (fault.kind == ServerFault::failover || fault.kind == ServerFault::death) {
        fail_over(fault, set);
    } else if (replication != nullptr && fault.kind == ServerFault::lag) {
        replication->set_lag(static_cast<Micros>(fault.bits % second));
    } else if (replication != nullptr && fault.kind == ServerFault::stall) {
        replication->stall(true);
    } else if (replication != nullptr && fault.kind == ServerFault::stale) {
        server.server().state.serves_stale = fault.bits % 2 == 0;
        replication->cut();
    }
}

void Servers::begin_on_sentinel(const Fault<ServerFault>& fault) {
    if (fault.kind != ServerFault::lost_sentinel || sentinels_.empty()) {
        return;
    }
    const std::size_t which = fault.bits % sentinels_.size();
    Sentinel& sentinel = *sentinels_[which];
    switch (fault.bits / 8 % 4) {
        case 0:
            sentinel.kill();
            break;
        case 1:
            sentinel.link().silent = true;
            break;
        case 2:
            sentinel.link().jitter_back = 20'000;
            sentinel.link().piece = 5;
            break;
        default:
            deaf_[which] = true;
            break;
    }
}

/// Where nobody watches, nobody replaces a primary: its address stands in the configuration.
void Servers::fail_over(const Fault<ServerFault>& fault, Set& set) {
    Redis* const next = find_successor(*set.servers);
    if (next == nullptr || set.watch == nullptr) {
        return;
    }
    Redis& former = set.servers->primary();
    if (fault.kind == ServerFault::death) {
        former.link().silent = true;
        former.vanish();
    }
    for (const auto& sentinel : sentinels_) {
        set.watch->begin_failover(*sentinel);
    }
    set.watch->promote(*next);
    tell_sentinels(set, fault.bits);
}

/// Most sentinels learn of a new primary soon, some in the next two seconds.
void Servers::tell_sentinels(Set& set, std::uint64_t bits) {
    Chance chance(bits);
    for (std::size_t i = 0; i < sentinels_.size(); ++i) {
        const Micros later = chance.percent(60) ? chance.below(50'000) : chance.below(2 * second);
        events_.in(later, [this, &watch = *set.watch, i] {
            if (!deaf_[i]) {
                watch.tell(*sentinels_[i]);
            }
        });
    }
}

void Servers::end(const Fault<ServerFault>& fault) {
    Redis& server = *servers_[fault.where];
    Set& set = set_of(server);
    if (fault.kind == ServerFault::data_loss && &server == &set.servers->primary() && !server.runs()) {
        set.servers->lose_data();
    }
    for (const auto& sentinel : sentinels_) {
        sentinel->link() = Link{};
        sentinel->start();
    }
    deaf_.assign(sentinels_.size(), false);
    for (Redis* member : set.servers->members()) {
        heal(*member);
    }
    heal_set(set);
}

void Servers::heal(Redis& server) {
    server.link() = Link{};
    ServerState& state = server.server().state;
    state.loading = false;
    state.out_of_memory = false;
    state.cannot_save = false;
    state.lacks_replicas = false;
    state.busy = false;
    state.serves_stale = true;
    server.start();
    server.resume();
}

/// Each is what it is in truth, and follows the primary.
void Servers::heal_set(Set& set) {
    Redis& primary = set.servers->primary();
    primary.server().state.role = ServerRole::primary;
    for (Redis* member : set.servers->members()) {
        if (member != &primary && !set.servers->follows(*member)) {
            set.servers->follow(*member, true, set.lag);
        } else if (Replication* replication = primary.replication_to(*member)) {
            member->server().state.role = ServerRole::replica;
            replication->set_lag(set.lag);
            replication->stall(false);
            replication->mend();
        }
    }
    if (set.watch != nullptr) {
        set.watch->tell_all();
    }
}

std::int64_t Servers::used(const std::string& key) {
    std::int64_t sum = 0;
    for (const Set& set : sets_) {
        sum += set.servers->primary().used(key);
    }
    return sum;
}

}  // namespace rate_limit::world
