#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "bench/simulate/measures.h"
#include "bench/simulate/random.h"
#include "bench/simulate/setup.h"
#include "t/world/configured.h"
#include "t/world/redis.h"

namespace rate_limit::simulated {

/// A server: does one command after another, each of which takes a while, and is counted.
class MeasuredServer final : world::CommandObserver {
public:
    /// All outlive it.
    MeasuredServer(world::Events& events, world::Network& network, const std::string& address,
                   const Setup& setup, Random& random, Measures& measures, bool is_replica);

    world::Redis& redis() noexcept { return redis_; }
    const std::string& address() const noexcept { return redis_.address(); }

    /// How long its processor was busy, in all.
    Micros busy() const noexcept { return busy_ / 1000; }

private:
    void on_command(world::Server& server, const world::ServerCommand& command, world::Words words) override;

    world::Events& events_;
    const Setup& setup_;
    Random& random_;
    Measures& measures_;
    const bool is_replica_;
    world::Redis redis_;
    Micros free_at_ = 0;
    Nanos busy_ = 0;
};

/// One shard: a primary, and a replica where replicas are read.
class Shard {
public:
    Shard(world::Events& events, world::Network& network, std::size_t number, const Setup& setup,
          Random& random, Measures& measures, bool has_replica);
    Shard(const Shard&) = delete;
    Shard& operator=(const Shard&) = delete;

    /// How a store's configuration names it.
    world::ShardSetup named() const;

    MeasuredServer& primary() noexcept { return primary_; }

    /// From then on until then the replica learns of nothing new.
    void cut(Micros from, Micros until) noexcept {
        cut_from_ = from;
        cut_until_ = until;
    }

private:
    /// Keeps no books of writes that a failover loses, as Redis::replicate_to() does: that takes time.
    void replicate(const world::Effect& effect);

    world::Events& events_;
    const std::string name_;
    const Micros lag_;
    MeasuredServer primary_;
    std::unique_ptr<MeasuredServer> replica_;
    Micros cut_from_ = 0;
    Micros cut_until_ = 0;
};

}  // namespace rate_limit::simulated
