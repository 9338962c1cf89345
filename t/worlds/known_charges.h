#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "t/world/events.h"

namespace rate_limit::world {

/// So long the primary's answer to a charge may stand for a check, in a window of an hour.
constexpr Micros fresh = second;

/// By then a charge is on all servers, where nothing fails: a batch leaves, and replicas are up to 50 ms
/// behind.
constexpr Micros arrives_in = second * 3 / 10;

/// How much a machine must know of a limit in `check_charge`, key by key: while it may not know better, it
/// may pass the limit. The limit's window outlasts the world.
class KnownCharges {
public:
    static constexpr Micros never = std::numeric_limits<Micros>::max();

    /// The window of a key in one shard, as one machine knows it.
    struct Place {
        std::size_t machine = 0;
        std::uint64_t shard = 0;  ///< its digest; 0: keys have one place for all configurations

        friend bool operator<(const Place& one, const Place& other) {
            return std::tie(one.machine, one.shard) < std::tie(other.machine, other.shard);
        }
    };

    /// The counts that must be known of a request's key when it begins.
    struct Known {
        Place place;
        std::int64_t of_machine = 0;  ///< charged by requests of the same place, or in flight there, as 1
        std::int64_t gone = 0;        ///< how many had left that place by then without a charge
        Micros stored_since = never;  ///< when all servers had stored the limit
        std::int64_t of_all = 0;      ///< charged by all machines so long ago that others know of it
    };

    /// `late`: by then a charge is known to others, where nothing fails.
    explicit KnownCharges(Micros late) noexcept : late_(late) {}

    /// A request begins. `all_stored`: all servers have stored the limit for its key.
    Known begin(std::size_t key, const Place& place, bool all_stored, Micros now) {
        Charged& charged = charged_[key];
        while (!charged.recent.empty() && charged.recent.front().first + late_ <= now) {
            charged.old += charged.recent.front().second;
            charged.recent.pop_front();
        }
        charged.stored_since = !all_stored                     ? never
                               : charged.stored_since == never ? now
                                                               : charged.stored_since;
        const OfMachine& here = of_machine_[{key, place}];
        return {place, here.charged + here.in_flight, here.gone, charged.stored_since, charged.old};
    }

    /// How much of what its machine had charged and had in flight when a request began is there still.
    std::int64_t still_here(const Known& known, std::size_t key) {
        return known.of_machine - (of_machine_[{key, known.place}].gone - known.gone);
    }

    void enter(std::size_t key, const Place& place) { ++of_machine_[{key, place}].in_flight; }

    /// One that has entered leaves. `cost` is 0 if it was not charged.
    void leave(std::size_t key, const Place& place, std::int64_t cost) {
        OfMachine& here = of_machine_[{key, place}];
        --here.in_flight;
        here.charged += cost;
        here.gone += cost == 0 ? 1 : 0;
    }

    /// A request was charged, whoever let it in.
    void charge(std::size_t key, std::int64_t cost, Micros now) {
        charged_[key].recent.emplace_back(now, cost);
    }

private:
    struct OfMachine {
        std::int64_t charged = 0;
        std::int64_t in_flight = 0;
        std::int64_t gone = 0;
    };
    struct Charged {
        std::int64_t old = 0;
        std::deque<std::pair<Micros, std::int64_t>> recent;
        Micros stored_since = never;
    };

    const Micros late_;
    std::map<std::pair<std::size_t, Place>, OfMachine> of_machine_;  // by key
    std::map<std::size_t, Charged> charged_;
};

}  // namespace rate_limit::world
