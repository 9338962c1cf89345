#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/overrides/shared_state.h"
#include "core/topology/shared_topology.h"
#include "limiter/configuration.h"

namespace rate_limit::world {

/// A shard of a simulated store: addresses, as `10.0.0.1:6379`, or `db:6379` where Network::lead() has that
/// name; or what its sentinels call it.
struct ShardSetup {
    std::string name;
    std::string primary;
    std::vector<std::string> replicas{};
    std::string master{};
};

/// Another region of a store: replicas of the same shards, or their masters and `sentinels`.
struct RegionSetup {
    std::string name;
    std::vector<ShardSetup> shards;
    std::vector<std::string> sentinels{};
};

/// A store, as a rate_limit_redis block says it: shards with addresses; shards with masters, and `sentinels`;
/// or `seeds` of a cluster alone.
struct StoreSetup {
    std::string name = "main";
    std::vector<ShardSetup> shards;
    std::vector<std::string> sentinels{};
    std::vector<std::string> seeds{};
    Msec check_timeout = 100;
    Msec charge_timeout = 5000;
    Msec connect_timeout = 1000;
    std::optional<Msec> fresh{};
    StoreConf::ReadFrom read_from = StoreConf::ReadFrom::nearest;
    bool shares_overrides = false;
    bool encrypted = false;  // for what is logged alone
    bool resolves = false;   // names are resolved again; so they are where a shard has one
    std::string password{};
    std::string password_file{};  // where the password is read again
    std::string sentinel_password{};
    std::string sentinel_password_file{};
    std::int64_t database = 0;
    std::string here{};  // the region of its shards; empty: it has no regions
    std::vector<RegionSetup> elsewhere{};

    /// Whether sentinels, or nodes of a cluster, say which servers it has.
    bool discovers() const noexcept { return !sentinels.empty() || !seeds.empty(); }
};

/// A limit, as a rate_limit line says it.
struct LimitSetup {
    std::string name = "default";
    std::string rate = "10r/m";
    std::string mode = "check_charge";
    std::int64_t burst = 0;  ///< 0: windows count
    std::string store = "main";
    std::uint64_t lease = lease_auto;
    std::string window = "first";  ///< as the parameter says it
    bool running = false;          ///< rate_limit_concurrency: the rate is a number
    Enforced enforced = Enforced::yes;
    bool reserves = false;   ///< before the request what that says, if it says so
    std::int64_t delay = 0;  ///< as Limit has it; of the modes with buckets not in `lease`
    Millis penalty = 0;      ///< a rejected key stays so for so long

    WindowKind windows() const {
        return window == "first"   ? WindowKind::first
               : window == "clock" ? WindowKind::clock
                                   : WindowKind::local_day;
    }
    bool by_clock() const { return is_by_clock(windows()); }
};

struct Setup {
    std::vector<StoreSetup> stores;
    std::vector<LimitSetup> limits;
    std::size_t connections = 512;  ///< that a worker can have
    OnError on_error = OnError::allow;
    std::size_t zone_size = std::size_t{1} << 20;
};

/// Returns the setup. Throws std::invalid_argument where names, times, numbers or kinds of servers make no
/// sense in it.
const Setup& checked(const Setup& setup);

/// The configuration that one worker reads from a setup: each has its own, as a process of nginx does.
class Configured : public Configuration {
public:
    /// `of` outlives this. `shared_overrides`: of each store, in their order; there may be fewer yet.
    /// `topologies`: of the stores that have to discover their servers, in their order, each before its
    /// other regions.
    /// Throws std::invalid_argument for what makes no sense: what checked() refuses, addresses, rates, modes,
    /// and stores that are missing.
    Configured(const Setup& of, Zone& for_zone, std::deque<SharedState>& shared_overrides,
               const std::vector<SharedTopology>& topologies = {});
    ~Configured();
    Configured(const Configured&) = delete;
    Configured& operator=(const Configured&) = delete;

    OnError on_error() const noexcept { return on_error_; }

private:
    void add_store(const StoreSetup& setup);
    void add_regions(StoreConf& store, const StoreSetup& setup);
    void add_shards(StoreConf& store, const std::vector<ShardSetup>& shards, bool here);
    void use_topology(StoreConf& store);
    void add_limit(const LimitSetup& setup);

    const OnError on_error_;
    std::size_t store_number_ = 0;
    std::deque<StoreConf> store_confs_;
    std::deque<Limit> all_limits_;
    std::deque<std::string> texts_;
    std::deque<PrimaryWarnings> warnings_;
    std::deque<SharedState>& shared_overrides_;
    std::vector<SharedTopology> topologies_;  // each process has copies
    std::size_t discovering_ = 0;             // stores and regions that have one of these
};

}  // namespace rate_limit::world
