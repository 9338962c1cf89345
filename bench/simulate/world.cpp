#include "bench/simulate/world.h"

#include <algorithm>
#include <functional>
#include <string>

#include "bench/simulate/faults.h"
#include "bench/simulate/workload.h"

namespace rate_limit::simulated {

namespace {

/// Workers have connected by then, which they do when they first have something to ask or to charge.
constexpr Micros before_requests = 2 * world::second;

/// So many keys for each shard, none of which a client has, lead a worker to all shards.
constexpr std::size_t keys_to_connect = 8;

/// Everything under way has ended by then, but for responses.
constexpr Micros drain = world::second;

std::string rate_of(const Rate& rate) {
    return std::to_string(rate.limit) + "r/" + std::to_string(rate.period) + "s";
}

/// The zone has more than windows in it.
std::size_t zone_for(std::size_t records) {
    return std::max(Zone::default_size / 10, 2 * WindowTable::bytes_for(records));
}

}  // namespace

Visit::Visit(World& of, world::WorkerProcess& worker, Key about, Micros takes)
    : world(of),
      key(about),
      response(takes),
      request(worker, std::to_string(about), 1, [this](world::ClientRequest&) { decided(); }) {}

void Visit::decided() {
    world.decided(*this);
}

World::World(const Setup& the_setup, Way the_way, std::uint64_t seed)
    : setup(the_setup), way(the_way), random(seed), events(random.bits()), measures(the_setup, the_way) {
    world::StoreSetup store;
    for (std::size_t i = 0; i < setup.shards; ++i) {
        shards.push_back(
            std::make_unique<Shard>(events, network, i, setup, random, measures, !is_exact(way)));
        shards.back()->cut(before_requests + micros_of(setup.cut.from),
                           before_requests + micros_of(setup.cut.until));
        store.shards.push_back(shards.back()->named());
    }
    if (way == Way::check_charge_unfresh) {
        store.fresh = 0;
    }
    world::LimitSetup limit;
    limit.rate = rate_of(setup.rate);
    limit.mode = mode_of(way);
    configured_.stores = {store};
    configured_.limits = {limit};
    configured_.on_error = OnError::deny;
    configured_.zone_size = zone_for(setup.records);
    sites_ = std::vector<Site>(setup.machines);
    for (Site& site : sites_) {
        const auto ahead = static_cast<Millis>((2 * random.part() - 1) * setup.clocks_apart);
        site.wall_clock = world::Loop::usual_wall_clock + ahead;
        start_machine(site);
    }
}

/// Requests before their workers.
World::~World() {
    over_.clear();
    for (Site& site : sites_) {
        site.visits.clear();
    }
}

void World::start_machine(Site& site) {
    site.machine = std::make_unique<world::Machine>(events, configured_, site.wall_clock);
    for (std::size_t i = 0; i < setup.workers; ++i) {
        site.machine->start_worker();
    }
}

void World::begin() {
    std::list<world::ClientRequest> first;
    for (const Site& site : sites_) {
        for (const auto& worker : site.machine->workers()) {
            for (std::size_t i = 0; i < keys_to_connect * setup.shards; ++i) {
                first.emplace_back(*worker, "warm" + std::to_string(i)).begin();
            }
        }
    }
    events.pass(before_requests / 2);
    for (world::ClientRequest& request : first) {
        request.end();
    }
    first.clear();
    events.pass(before_requests / 2);
    begun_ = events.now();
}

void World::run() {
    begin();
    schedule_faults(*this);
    Workload workload(*this);
    workload.start();
    events.pass(micros_of(setup.seconds));
    workload.stop();
    end();
}

void World::run(const std::vector<Arrival>& schedule) {
    begin();
    Schedule arrivals(*this, schedule);
    arrivals.start();
    events.pass(schedule.empty() ? 0 : schedule.back().at);
    end();
}

void World::end() {
    events.pass(drain + 2 * static_cast<Micros>(setup.response.fixed));
    measures.finish();
}

Micros World::response_time() noexcept {
    const double part = 1 + setup.response_spread * (2 * random.part() - 1);
    return static_cast<Micros>(part * static_cast<double>(draw(setup.response, random)));
}

void World::request(std::size_t machine, Key key, Micros response) {
    over_.clear();
    Site& site = sites_[machine];
    const auto& workers = site.machine->workers();
    world::WorkerProcess& worker = *workers[workers.size() == 1 ? 0 : random.below(workers.size())];
    measures.requested(key, utc());
    Visit& visit = site.visits.emplace_back(*this, worker, key, response);
    visit.among = &site.visits;
    visit.place = std::prev(site.visits.end());
    visit.request.begin();
}

void World::decided(Visit& visit) {
    const Verdict& verdict = visit.request.verdicts()[0];
    if (visit.request.is_admitted()) {
        measures.admit(visit.key, verdict.window.reset, events.now());
        visit.ends = events.in(visit.response, [this, &visit] {
            visit.request.end();
            measures.charged(visit.request.applied(0).charged);
            over_.splice(over_.end(), *visit.among, visit.place);
        });
        return;
    }
    if (visit.request.outcome == Outcome::rejected) {
        measures.rejected(visit.key, verdict.window.reset, events.now());
    } else {
        ++measures.failed;
    }
    over_.splice(over_.end(), *visit.among, visit.place);
}

void World::kill_worker(std::size_t machine) {
    over_.clear();
    Site& site = sites_[machine];
    const auto& workers = site.machine->workers();
    world::WorkerProcess& worker = *workers[random.below(workers.size())];
    site.machine->kill_worker(worker, [&] {
        site.visits.remove_if([&](const Visit& visit) {
            const bool lost = visit.request.is_of(worker);
            if (lost && visit.ends) {
                events.cancel(*visit.ends);
            }
            return lost;
        });
    });
    site.machine->start_worker();
}

void World::kill_machine(std::size_t machine) {
    over_.clear();
    Site& site = sites_[machine];
    site.machine->cut_off();
    for (const Visit& visit : site.visits) {
        if (visit.ends) {
            events.cancel(*visit.ends);
        }
    }
    site.visits.clear();
    start_machine(site);
}

void World::lose_primaries() {
    for (const auto& shard : shards) {
        shard->primary().redis().kill(true);
    }
}

void World::mend_primaries() {
    for (const auto& shard : shards) {
        shard->primary().redis().start();
    }
}

std::size_t World::records() const {
    std::size_t most = 0;
    for (const Site& site : sites_) {
        const auto held = site.machine->zone().windows().occupancy(site.wall_clock + events.now() / 1000);
        most = std::max<std::size_t>(most, held.open + held.closed);
    }
    return most;
}

}  // namespace rate_limit::simulated
