#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <regex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "limiter/charges/losses.h"
#include "limiter/charges/shard_counters.h"
#include "t/world/client_request.h"
#include "t/world/machine.h"
#include "t/world/redis.h"
#include "t/world/scripted.h"

namespace rate_limit::world {

/// A world to which a test adds servers, and whose machines start with their first worker. `setup` may be
/// changed until then, and before reload().
///
///     Scenario world({"default", "5r/m"});
///     Redis primary(world.events, world.network, Scenario::primary_address);
///     EXPECT_EQ(world.ask("client"), "PASSED");
///
/// Declare servers after the world, so that they end first.
class Scenario {
public:
    static constexpr const char* primary_address = "10.0.0.1:6379";
    static constexpr const char* replica_address = "10.0.0.2:6379";

    /// The store `main` with one shard, `a`, and this limit; `setup.limits` takes more. `timeout`:
    /// check_timeout, charge_timeout and connect_timeout, in ms; 0: as usual.
    explicit Scenario(LimitSetup limit, Msec timeout = 0) {
        setup.stores = {store_at(primary_address, timeout)};
        setup.limits = {std::move(limit)};
    }

    static StoreSetup store_at(const std::string& primary, Msec timeout = 0, std::string name = "main") {
        StoreSetup store{std::move(name), {{"a", primary}}};
        if (timeout != 0) {
            store.check_timeout = store.charge_timeout = store.connect_timeout = timeout;
        }
        return store;
    }

    // Machines and workers, by their numbers; each starts when it is first named.

    Machine& machine(std::size_t number = 0);
    WorkerProcess& worker(std::size_t number = 0, std::size_t machine = 0);

    /// Its requests end, it leaves, and is gone as soon as nothing keeps it. False: that was not so after
    /// `at_most` milliseconds.
    bool stop(WorkerProcess& worker, Msec at_most = 600'000);

    /// The worker is killed with its requests.
    void kill(std::size_t number = 0, std::size_t machine = 0);

    /// All workers of all machines stop.
    bool stop_all();

    /// New workers of `setup` take the place of all workers of the machine, which begin to leave. They are
    /// the last ones of Machine::workers() until they are ended.
    void reload(std::size_t machine = 0);

    /// Ends those that leave and that nothing keeps; says how many still leave.
    std::size_t end_leaving(std::size_t machine = 0);

    // Requests. They live until the world ends, or their worker.

    /// It begins at that worker; null: at the first one that does not leave.
    ClientRequest& begin(RequestSetup request, WorkerProcess* worker = nullptr);

    /// One request from begin to end. Its outcome, as `$rate_limit_status` says it; "" where nothing was
    /// decided within a minute.
    std::string ask(RequestSetup request, WorkerProcess* worker = nullptr);

    /// Sends so many requests after one another, and returns how many were admitted.
    std::size_t admitted(std::size_t count, const RequestSetup& request, WorkerProcess* worker = nullptr);

    // Time.

    void pass(Msec time) { events.pass(static_cast<Micros>(time) * 1000); }

    /// From then on charges may go by plain increments.
    void let_connections_age();

    /// Lets time pass until it is so, a millisecond after another. False: it was not within `at_most`
    /// milliseconds.
    bool until(const std::function<bool()>& is_so, Msec at_most = 60'000);

    /// UTC so many milliseconds from now on.
    Millis at(Millis later = 0) const noexcept {
        return Loop::usual_wall_clock + events.now() / 1000 + later;
    }

    // The logs of all workers there were.

    std::vector<std::string> lines() const;

    /// How many lines have this in them: a regular expression of ECMAScript.
    std::size_t logged(const std::string& pattern) const;

    /// Forgets all lines so far.
    void forget_lines();

    Setup setup;
    std::map<std::size_t, Setup> setups;  // of machines that have another one
    Events events;
    Network network{events};

private:
    void forget_requests(const WorkerProcess& worker);
    WorkerProcess& note(WorkerProcess& worker);

    std::vector<std::shared_ptr<std::vector<std::string>>> logs_;
    std::deque<std::unique_ptr<Machine>> machines_;
    std::deque<std::unique_ptr<ClientRequest>> requests_;
};

/// The decision, as `$rate_limit_status` says it.
inline std::string outcome(const ClientRequest& request) {
    return std::string(to_string(request.outcome));
}

/// Counts of a shard, as all workers of the machine have counted them: `counted(world,
/// Write::charges_stored)`.
template <typename Kind>
std::uint64_t counted(Scenario& world, Kind kind, const std::string& shard = "a",
                      const std::string& store = "main") {
    return Counters<Kind>(world.machine().zone().counters(), {store, shard, {}}).count(kind);
}

/// The key under which a window of the limit is stored: `period` in seconds.
inline std::string stored_key(const std::string& key, const std::string& period = "3600",
                              const std::string& limit = "default") {
    return "rl:" + limit + "/" + period + ":" + key;
}

/// The batches of a lease of an hour that the server was asked for under this key.
std::vector<Command> batches(const Scripted& server, const std::string& key);

}  // namespace rate_limit::world
