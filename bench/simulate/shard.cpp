#include "bench/simulate/shard.h"

#include <algorithm>

#include "bench/simulate/calls.h"

namespace rate_limit::simulated {

namespace {

std::string address_of(std::size_t shard, bool replica) {
    return "10.0." + std::to_string(shard) + (replica ? ".2:6379" : ".1:6379");
}

}  // namespace

MeasuredServer::MeasuredServer(world::Events& events, world::Network& network, const std::string& address,
                               const Setup& setup, Random& random, Measures& measures, bool is_replica)
    : events_(events),
      setup_(setup),
      random_(random),
      measures_(measures),
      is_replica_(is_replica),
      redis_(events, network, address) {
    redis_.server().observe(this);
    redis_.link() = {draw(setup.latency, random), draw(setup.latency, random)};
}

/// Commands sent from now on take as long as is drawn here; each answer waits for those before it.
void MeasuredServer::on_command(world::Server& server, const world::ServerCommand& command,
                                world::Words words) {
    const auto called = read_call(command, words);
    if (!called) {
        return;
    }
    const Micros now = events_.now();
    measures_.called(*called, is_replica_, server.now());
    if (called->command == Command::increment || called->command == Command::charge) {
        measures_.stored(called->key, stored_window(server, command, words));
    }
    free_at_ = std::max(free_at_, now) + (called->cost + 999) / 1000;
    busy_ += called->cost;
    redis_.link().there = draw(setup_.latency, random_);
    redis_.link().back = draw(setup_.latency, random_) + free_at_ - now;
}

Shard::Shard(world::Events& events, world::Network& network, std::size_t number, const Setup& setup,
             Random& random, Measures& measures, bool has_replica)
    : events_(events),
      name_("s" + std::to_string(number)),
      lag_(static_cast<Micros>(setup.lag.fixed)),
      primary_(events, network, address_of(number, false), setup, random, measures, false) {
    if (!has_replica) {
        return;
    }
    replica_ = std::make_unique<MeasuredServer>(events, network, address_of(number, true), setup, random,
                                                measures, true);
    replica_->redis().server().state.role = world::ServerRole::replica;
    primary_.redis().server().on_write([this](const world::Effect& effect) { replicate(effect); });
}

world::ShardSetup Shard::named() const {
    world::ShardSetup named{name_, primary_.address()};
    if (replica_ != nullptr) {
        named.replicas.push_back(replica_->address());
    }
    return named;
}

void Shard::replicate(const world::Effect& effect) {
    const Micros due = events_.now() + lag_;
    events_.at(due >= cut_from_ && due < cut_until_ ? cut_until_ : due,
               [this, effect] { replica_->redis().server().apply(effect); });
}

}  // namespace rate_limit::simulated
