#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/counts/running_counts.h"
#include "core/limit/decision.h"
#include "core/machine/windows/recent_ids.h"
#include "core/table/eviction.h"
#include "limiter/configuration.h"
#include "limiter/counters.h"

namespace rate_limit {

/// Counts of a limit: each request that it was decided for, by the outcome, and more. A request whose key was
/// empty is a miss of these counters.
enum class Decided : unsigned char {
    passed,
    error_allowed,
    error_local,
    rejected_dry_run,
    error_denied,
    rejected,
    unasked,  ///< requests among the above for which no store was asked
    cost,     ///< cost charged, of all requests together
};

template <>
struct CountersOf<Decided> {
    static constexpr std::string_view name = "decisions";
    static constexpr std::size_t count = static_cast<std::size_t>(Decided::cost) + 1;
};

static_assert(static_cast<std::size_t>(Decided::unasked) < CounterTable::group_size,
              "outcomes and `unasked` are counted together");

constexpr Decided decided_of(Outcome outcome) noexcept {
    return static_cast<Decided>(static_cast<std::size_t>(outcome) -
                                static_cast<std::size_t>(Outcome::passed));
}

/// Counts of a limit that reserves, in cost: what its settled requests had reserved, and what they came to.
enum class Reserving : unsigned char { reserved, settled };

template <>
struct CountersOf<Reserving> {
    static constexpr std::string_view name = "reservations";
    static constexpr std::size_t count = static_cast<std::size_t>(Reserving::settled) + 1;
    static bool kept_for(const Limit& limit) noexcept { return limit.reserves; }
};

/// Counts of a limit with `delay=`: requests that waited for their turn by it, and how long in all.
enum class Delaying : unsigned char { delayed, millis };

template <>
struct CountersOf<Delaying> {
    static constexpr std::string_view name = "delays";
    static constexpr std::size_t count = static_cast<std::size_t>(Delaying::millis) + 1;
    static bool kept_for(const Limit& limit) noexcept { return limit.delay != 0; }
};

/// Counts of a limit with penalties.
enum class Penalizing : unsigned char { begun };

template <>
struct CountersOf<Penalizing> {
    static constexpr std::string_view name = "penalties";
    static constexpr std::size_t count = static_cast<std::size_t>(Penalizing::begun) + 1;
    static bool kept_for(const Limit& limit) noexcept { return limit.penalty != 0; }
};

/// Calls fn(What{}) for each sort of counts that only some limits have: those for which
/// CountersOf<What>::kept_for() says so.
template <typename Fn>
void for_each_sort(Fn&& fn) {
    fn(Reserving{});
    fn(Delaying{});
    fn(Penalizing{});
}

/// Requests are counted by their outcome, each once, at its end.
template <>
struct CountersOf<Outcome> {
    static constexpr std::string_view name = "requests";
    static constexpr std::size_t count = static_cast<std::size_t>(Outcome::bypassed) + 1;
};

/// Events for want of room in the zone.
enum class Pressure : unsigned char {
    evicted_copy,    ///< a window that Redis knows
    evicted_tokens,  ///< a window that Redis knows, with tokens at hand
    evicted_local,   ///< a local window, whose client gets a new one
    full,            ///< there was no room for a window, or for a waiting charge
};

template <>
struct CountersOf<Pressure> {
    static constexpr std::string_view name = "pressure";
    static constexpr std::size_t count = static_cast<std::size_t>(Pressure::full) + 1;
};

/// Counts it.
class PressureGauge final : public RoomListener {
public:
    explicit PressureGauge(CounterTable& table) noexcept : counters_(table, Subject{}) {}

    void on_evicted(EvictionTier tier) noexcept override;
    void on_full() noexcept override { counters_.add(Pressure::full); }

    std::uint64_t count(Pressure what) const noexcept { return counters_.count(what); }

private:
    Counters<Pressure> counters_;
};

/// Digest of the names of a limit and its store, by which the zone knows the limit. Not 0.
std::uint64_t limit_digest(std::string_view store, std::string_view limit) noexcept;

/// The limits that have one name in one store: what they decide is counted together, of all workers, since
/// the zone was made.
struct Tally {
    const Limit* limit;      ///< the first of them; null: see Tallies::others()
    const StoreConf* store;  ///< null: `local`, or a variable that named no store
    std::string_view store_name;
    std::string_view name;
    std::uint64_t digest;  ///< see limit_digest()
    Counters<Decided> counters;
    RunningCounts::Column column = RunningCounts::others;  ///< for a limit of running requests
    std::tuple<std::optional<Counters<Reserving>>, std::optional<Counters<Delaying>>,
               std::optional<Counters<Penalizing>>>
        of_some{};

    /// Counts of one sort; empty: they are kept for none of the limits.
    template <typename What>
    std::optional<Counters<What>>& of() noexcept {
        return std::get<std::optional<Counters<What>>>(of_some);
    }
    template <typename What>
    const std::optional<Counters<What>>& of() const noexcept {
        return std::get<std::optional<Counters<What>>>(of_some);
    }

    /// Whether what this limit decides may count here.
    bool is_of(const Limit& other) const noexcept;
};

/// The tallies of a configuration, and the counters of its requests, as one process uses them.
class Tallies {
public:
    /// The contract's name for the store of a limit whose variable names none.
    static constexpr std::string_view no_store = "*";

    /// `main` outlives this. Its limits remember their tallies. Throws std::bad_alloc.
    explicit Tallies(const Configuration& main);
    Tallies(const Tallies&) = delete;
    Tallies& operator=(const Tallies&) = delete;

    /// Calls fn(CounterTable::Name) for the counters that nothing stands in for: of requests, of want of
    /// room, and of what limits without counters of their own count together. Throws what fn throws.
    static void for_each_common_name(const std::function<void(CounterTable::Name)>& fn);

    /// Calls fn(CounterTable::Name) for the counters of the limits of `main`. Throws what fn throws.
    static void for_each_name(const Configuration& main, const std::function<void(CounterTable::Name)>& fn);

    /// The tally that counts what the limit decides; null: its store is a variable.
    Tally* find(const Limit& limit) noexcept { return limit.tally != 0 ? &all_[limit.tally - 1] : nullptr; }

    /// The tally of any limit; null: it counts among what has no tally. `store` is the name of the one that a
    /// variable chose; no_store: none, or it is not known.
    Tally* find(const Limit& limit, std::string_view store) noexcept {
        Tally* const known = find(limit);
        return known != nullptr ? known : search(limit, store);
    }

    Counters<Decided>& counters_of(Tally* tally) noexcept {
        return tally != nullptr ? tally->counters : others_.counters;
    }

    /// Counts of one sort; empty: they are kept for no limit.
    template <typename What>
    std::optional<Counters<What>>& counters_of_some(Tally* tally) noexcept {
        return (tally != nullptr ? *tally : others_).template of<What>();
    }

    /// Counters of requests without a key. Their store was not sought: a variable one is no_store here.
    Counters<Decided>& counters_without_key(const Limit& limit) noexcept {
        return all_[limit.tally_without_key].counters;
    }

    Counters<Outcome>& requests() noexcept { return requests_; }
    RecentIds& recent_ids() noexcept { return recent_ids_; }
    const PressureGauge& pressure() const noexcept { return pressure_; }

    /// The digests of the limits whose rates variables say. Throws std::bad_alloc.
    std::vector<std::uint64_t> of_variable_rates() const;

    /// Makes room in the zone for counts of requests that hold a limit while they run, and finds it there.
    /// Throws std::bad_alloc.
    void make_columns(Zone& zone);

    /// In the order of their lines.
    const std::vector<Tally>& all() const noexcept { return all_; }

    /// The common tally of limits that the zone has no room for, limit `*` of store `*`; null: all have room.
    const Tally* others() const noexcept;

private:
    Tally* search(const Limit& limit, std::string_view store) noexcept;

    std::vector<Tally> all_;
    Counters<Outcome> requests_;
    PressureGauge pressure_;  // listens to both tables of the zone
    Tally others_;
    RecentIds recent_ids_;
};

/// Makes the tallies of a configuration whose zone is there, for this process and those that it starts; the
/// configuration's owner deletes them. False without memory.
bool make_tallies(Configuration& main) noexcept;

}  // namespace rate_limit
