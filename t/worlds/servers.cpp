#include "t/worlds/servers.h"

#include <algorithm>
#include <array>

#include "redis/keys/routes.h"

namespace rate_limit::world {

namespace {

/// The begin of a failover of that kind.
void stop(ServerFault kind, Redis& primary) {
    if (kind == ServerFault::death) {
        primary.link().silent = true;
        primary.vanish();
    } else if (kind == ServerFault::freeze) {
        primary.pause();
    }
}

/// Some of the commands that the limiter sends.
void forbid(std::uint64_t bits, ServerState::Names& names) {
    constexpr std::array commands{"hincrby",     "evalsha", "hmget",   "bitfield", "eval",    "cluster|slots",
                                  "script|load", "hget",    "hgetall", "hlen",     "hdel",    "del",
                                  "get",         "set",     "pttl",    "info",     "pexpire", "hset"};
    for (std::size_t i = 0; i < commands.size(); ++i) {
        if ((bits >> 2 * i & 3) == 0) {
            names.insert(commands.at(i));
        }
    }
}

}  // namespace

Servers::Servers(Events& events, Network& network, const ServerPlan& plan, const SitePlan& sites)
    : events_(events),
      network_(network),
      sites_(sites),
      hosts_(network, plan.count_servers()),
      sentinels_(events, network, plan.sentinels) {
    make_sets(plan);
    deaf_nodes_.resize(servers_.size());
    if (plan.slot_owners != 0) {
        std::vector<ReplicaSet*> sets;
        for (const Set& set : sets_) {
            sets.push_back(set.servers.get());
        }
        cluster_ = std::make_unique<Cluster>(sets, plan.slot_owners);
    }
}

void Servers::make_sets(const ServerPlan& plan) {
    const std::size_t of_region = plan.sets.size() / sites_.regions();
    for (const ServerPlan::Set& each : plan.sets) {
        const std::size_t number = sets_.size();
        const std::size_t region = plan.region_of_set(number, sites_.regions());
        const std::vector<Sentinel*> sentinels = sentinels_.of_region(region, sites_.regions());
        std::vector<Redis*> members;
        for (std::size_t i = 0; i < each.members; ++i) {
            servers_.push_back(std::make_unique<Redis>(events_, network_, address_of_server(servers_.size()),
                                                       each.ahead + static_cast<Micros>(i) * each.apart));
            servers_.back()->server().state.version = plan.version;
            members.push_back(servers_.back().get());
        }
        auto servers = std::make_unique<ReplicaSet>(members, lost_);
        std::unique_ptr<MasterWatch> watch;
        if (!sentinels.empty()) {
            watch = std::make_unique<MasterWatch>(plan.stores.front().shards[number % of_region].master,
                                                  *servers, sentinels);
        }
        sets_.push_back({std::move(servers), std::move(watch), each.lag, region});
        heal_set(sets_.back());
    }
}

Servers::Set& Servers::set_of(const Redis& server) {
    return *std::find_if(sets_.begin(), sets_.end(),
                         [&server](const Set& set) { return set.servers->has(server); });
}

std::size_t Servers::site_of(const Redis& server) const {
    const auto found = std::find_if(servers_.begin(), servers_.end(),
                                    [&server](const auto& each) { return each.get() == &server; });
    return sites_.of_server(static_cast<std::size_t>(found - servers_.begin()));
}

/// Writes of the primary travel as far as the replica is.
Micros Servers::lag_to(const Set& set, const Redis& replica) const {
    return set.lag + sites_.time(site_of(set.servers->primary()), site_of(replica));
}

void Servers::begin(const Fault<ServerFault>& fault) {
    Redis& server = *servers_[fault.where];
    begin_on_link(fault, server.link());
    begin_on_state(fault, server.server().state);
    begin_on_process(fault, server);
    begin_on_replication(fault);
    MasterWatch* const watch = set_of(server).watch.get();
    if (watch != nullptr && fault.kind == ServerFault::lost_sentinel) {
        sentinels_.lose_one(*watch, fault.bits);
    }
    if (cluster_ != nullptr) {
        begin_on_cluster(fault);
    }
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
        case ServerFault::no_permission:
            forbid(fault.bits, state.forbidden);
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
        case ServerFault::gone:
            gone_.insert(&server);
            [[fallthrough]];
        case ServerFault::vanish:
            server.link().silent = true;
            server.vanish();
            break;
        case ServerFault::old_data:
            // Slots that move in between would take keys along, or bring them back.
            if (&server == &set_of(server).servers->primary() && cluster_ == nullptr) {
                server.keep(lost_);
            }
            break;
        case ServerFault::moved:
            move(fault);
            break;
        case ServerFault::flush:
            server.server().forget_scripts();
            break;
        default:
            break;
    }
}

/// It goes to its other address, or back. Names may lead there late.
void Servers::move(const Fault<ServerFault>& fault) {
    const std::size_t number = fault.where;
    hosts_.move(number);
    servers_[number]->reset_connections();
    events_.in(static_cast<Micros>(fault.bits % (2 * second)), [this, number] { hosts_.lead(number); });
}

void Servers::begin_on_replication(const Fault<ServerFault>& fault) {
    Redis& server = *servers_[fault.where];
    Set& set = set_of(server);
    Replication* replication = set.servers->replication_to(server);
    if (fault.kind == ServerFault::failover || fault.kind == ServerFault::hand_over ||
        fault.kind == ServerFault::death || fault.kind == ServerFault::freeze) {
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

void Servers::begin_on_cluster(const Fault<ServerFault>& fault) {
    Redis& server = *servers_[fault.where];
    if (fault.kind == ServerFault::down) {
        ClusterView& view = *server.server().state.cluster;
        view.down = fault.bits % 3 != 0;
        view.reads_when_down = fault.bits % 3 == 1;
        for (std::uint16_t slot = 0; !view.down && slot < slot_count; ++slot) {
            view.unstable.insert(slot);
        }
    } else if (fault.kind == ServerFault::deaf) {
        deaf_nodes_[fault.where] = true;
    } else if (fault.kind == ServerFault::slot_move && sets_.size() > 1 && !cluster_->move()) {
        ReplicaSet& from = *set_of(server).servers;
        const auto which = static_cast<std::size_t>(fault.bits % (sets_.size() - 1));
        ReplicaSet& to = *sets_[sets_[which].servers.get() == &from ? sets_.size() - 1 : which].servers;
        if (from.primary().runs() && to.primary().runs()) {
            const auto first = static_cast<std::uint16_t>(fault.bits / 64 % slot_count);
            const auto last = static_cast<std::uint16_t>(
                std::min<std::uint64_t>(slot_count - 1U, first + fault.bits / slot_count / 64 % 8'000));
            cluster_->begin_move({{first, last}, &from, &to});
            go_on_moving(fault.bits);
        }
    }
}

/// Keys move a few at a time; all nodes learn of it after the last one.
void Servers::go_on_moving(std::uint64_t bits) {
    constexpr Micros step = 50'000;
    events_.in(step, [this, bits] {
        if (!cluster_->move_keys(1 + bits % 5)) {
            go_on_moving(bits);
            return;
        }
        cluster_->end_move();
        tell_nodes(bits);
    });
}

bool Servers::is_moving(const ReplicaSet& set) const noexcept {
    return cluster_ != nullptr && cluster_->move() &&
           (cluster_->move()->from == &set || cluster_->move()->to == &set);
}

/// Servers say whose data they have: the primary's, where they follow it, or those of before.
void Servers::name_data(Set& set) {
    if (!sites_.regional || set.watch == nullptr) {
        return;
    }
    const auto number = static_cast<std::size_t>(&set - sets_.data());
    const std::string history = std::to_string(100 * (number + 1) + static_cast<std::size_t>(set.histories));
    const std::string id = history + std::string(40 - history.size(), 'f');
    for (Redis* member : set.servers->members()) {
        if (member == &set.servers->primary() || set.servers->follows(*member)) {
            member->server().state.replication_id = id;
        }
    }
}

/// Replicas that stand in other regions have the priority 0: a region's primary stays there.
Redis* Servers::find_successor(Set& set) {
    if (!sites_.regional) {
        return set.servers->find_successor();
    }
    const std::vector<Redis*>& members = set.servers->members();
    const auto found = std::find_if(members.begin(), members.end(), [&](const Redis* member) {
        return member != &set.servers->primary() && set.servers->follows(*member) && member->runs() &&
               site_of(*member) == set.region;
    });
    return found != members.end() ? *found : nullptr;
}

/// Nobody replaces a primary that nobody watches: its address stands in the configuration.
void Servers::fail_over(const Fault<ServerFault>& fault, Set& set) {
    Redis* const next = find_successor(set);
    if (next == nullptr || is_moving(*set.servers)) {
        return;
    }
    Redis& former = set.servers->primary();
    if (cluster_ != nullptr) {
        replace_in_cluster(fault, set, *next);
    } else if (set.watch != nullptr) {
        stop(fault.kind, former);
        set.watch->begin_failover(*set.watch->sentinels()[fault.bits % set.watch->sentinels().size()]);
        set.watch->promote(*next);
        ++set.histories;
        name_data(set);
        sentinels_.tell(*set.watch, fault.bits);
        await_knowledge(set, former, *next, -1);
    }
}

void Servers::replace_in_cluster(const Fault<ServerFault>& fault, Set& set, Redis& next) {
    Redis& former = set.servers->primary();
    if (fault.kind == ServerFault::hand_over && former.runs()) {
        cluster_->hand_over(*set.servers, next);
        tell_nodes(fault.bits);
        return;
    }
    if (fault.kind == ServerFault::death || fault.kind == ServerFault::freeze) {
        stop(fault.kind, former);
        replace_dead(set, former, next, fault.bits);
        return;
    }
    // It is cut off from the others, and goes on until it notices.
    cluster_->promote(*set.servers, next);
    tell_nodes(fault.bits);
    await_knowledge(set, former, next, -1);
    events_.in(static_cast<Micros>(fault.bits % (2 * second)), [this, &set, &former] {
        if (!set.servers->follows(former) && &set.servers->primary() != &former) {
            cluster_->cut_off(former);
        }
    });
}

/// The others find that slots are not served, and agree on a replica later, unless all is well by then.
void Servers::replace_dead(Set& set, Redis& former, Redis& next, std::uint64_t bits) {
    const auto noticed = static_cast<Micros>(bits % second);
    events_.in(noticed, [this, &former] {
        for (const auto& server : servers_) {
            if (!former.runs() && server->runs()) {
                cluster_->cut_off(*server);
            }
        }
    });
    events_.in(noticed + static_cast<Micros>(bits / second % second), [this, &set, &former, &next, bits] {
        const bool still = &set.servers->primary() == &former && !former.runs() && next.runs() &&
                           set.servers->follows(next) && !is_moving(*set.servers);
        if (still) {
            cluster_->promote(*set.servers, next);
            await_knowledge(set, former, next, -1);
        }
        tell_nodes(bits);
    });
}

/// Some sentinel or node tells of this primary: workers that have never heard of it may still learn of it.
bool Servers::is_told_of(const Set& set, const Redis& former) const {
    if (cluster_ != nullptr) {
        return cluster_->is_told_of(former);
    }
    return set.watch != nullptr && set.watch->is_told_of(former.address());
}

/// The former primary's writes, once all workers know the new one, are not lost unknown to them:
/// its answers do not count. A worker looks for what others have found out several times a second.
void Servers::await_knowledge(Set& set, Redis& former, Redis& next, Micros known_since) {
    constexpr Micros pause = 50'000;
    constexpr Micros all_workers = 300'000;
    events_.in(pause, [this, &set, &former, &next, known_since] {
        if (&set.servers->primary() != &next || set.servers->follows(former)) {
            return;
        }
        const bool known = all_know_ != nullptr && all_know_(set.region, former.address(), next.address()) &&
                           !is_told_of(set, former);
        const Micros since = !known ? -1 : known_since < 0 ? events_.now() : known_since;
        if (known && events_.now() - since >= all_workers) {
            former.count_as_lost(nullptr);
            return;
        }
        await_knowledge(set, former, next, since);
    });
}

/// Most nodes learn of a change soon, some in the next two seconds.
void Servers::tell_nodes(std::uint64_t bits) {
    Chance chance(bits);
    for (std::size_t i = 0; i < servers_.size(); ++i) {
        const Micros later = chance.percent(60) ? chance.below(50'000) : chance.below(2 * second);
        events_.in(later, [this, i] {
            if (!deaf_nodes_[i] && servers_[i]->runs()) {
                cluster_->tell(*servers_[i]);
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
    if (fault.kind == ServerFault::old_data && &server == &set.servers->primary() && server.runs()) {
        server.kill(true);
        server.restore();
    }
    sentinels_.heal();
    for (Redis* member : set.servers->members()) {
        heal(*member);
    }
    heal_set(set);
    hosts_.lead(fault.where);
    deaf_nodes_.assign(servers_.size(), false);
    if (cluster_ != nullptr) {
        cluster_->tell_all();
    }
}

void Servers::heal(Redis& server) {
    if (gone_.count(&server) != 0) {
        return;
    }
    server.link() = Link{};
    ServerState& state = server.server().state;
    state.loading = state.busy = false;
    state.out_of_memory = state.cannot_save = state.lacks_replicas = false;
    state.forbidden.clear();
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
            set.servers->follow(*member, cluster_ == nullptr, lag_to(set, *member));
        } else if (Replication* replication = primary.replication_to(*member)) {
            member->server().state.role = ServerRole::replica;
            replication->set_lag(lag_to(set, *member));
            replication->stall(false);
            replication->mend();
        }
    }
    if (set.watch != nullptr) {
        name_data(set);
        set.watch->tell_all();
    }
}

std::int64_t Servers::known_to_all(const std::string& key) {
    std::int64_t most = 0;
    for (const Set& set : sets_) {
        std::int64_t least = set.servers->primary().used(key);
        for (Redis* member : set.servers->members()) {
            least = std::min(least, member->used(key));
        }
        most = std::max(most, least);
    }
    return most;
}

bool Servers::has(const std::string& key) {
    return std::any_of(sets_.begin(), sets_.end(), [&key](const Set& set) {
        return set.servers->primary().server().databases().front().find(key) != nullptr;
    });
}

Window Servers::window(const std::string& key, std::size_t region) {
    if (cluster_ != nullptr) {
        return cluster_->owner_of(key_slot(key)).primary().window(key);
    }
    Window sum;
    const std::size_t of_region = sets_.size() / sites_.regions();
    for (std::size_t set = region * of_region; set < (region + 1) * of_region; ++set) {
        const Window here = sets_[set].servers->primary().window(key);
        sum = {sum.used + here.used, std::max(sum.reset, here.reset)};
    }
    return sum;
}

}  // namespace rate_limit::world
