#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/limit/rate.h"
#include "core/limit/window.h"
#include "limiter/store_conf.h"

namespace rate_limit {

class Kind;
class KnownOverrides;
class Mode;
class Tallies;
class Zone;
struct NamedMode;

/// A kind of limits as configurations name it, and as operators are told of it. Which ones there are stands
/// in limiter/kinds, a file each. Defaults fit windows.
struct NamedKind {
    std::string_view name;   // as `window=` and figures have it
    WindowKind window_kind;  // of its windows, unless their period is one of a calendar: see kind_in()
    const Kind& records;     // what it does with them

    const char* by_mode = "";                  // what the page adds to the name of a mode
    const char* open = "open";                 // how a look-up shows one in which something is used
    const char* closed = "not open";           // and one in which nothing is
    const char* plural = "windows";            // what limits without a name share
    const NamedKind* without_burst = nullptr;  // what counts where a variable burst is empty; null: no burst
    const NamedMode* mode = nullptr;           // the only one that counts it; null: configurations choose

    const char* amount = "rate";                       // what a line says first
    const char* shared = "window";                     // what two limits of one name have in common
    const char* theft = "spend another user's quota";  // what anyone could do by another user's name
    const char* why_not_given_back = nullptr;  // of what is used, to operators; null: they can give it back
    bool has_period = true;                    // else the amount is a number without one
    bool is_spent = true;  // requests have costs, which stay charged; else each holds one while it runs

    /// Parses the amount as parse_rate() does.
    RateError (*parse)(std::string_view text, WindowKind windows, Rate& rate) noexcept = parse_rate;
};

/// All kinds that `window=` names, the default first; null ends them.
extern const NamedKind* const named_windows[];

/// A mode as a configuration names it. Which ones there are stands in limiter/modes/mode.cpp.
struct NamedMode {
    const char* name;
    const Mode& with_redis;
    const Mode& local;
    const Mode* local_bucket;  // null: the mode does not count by token buckets
    const Mode* redis_bucket;  // null where local_bucket is
    const char* when_hot;      // advice where one key makes most of a shard's commands: for log lines
    const Mode* with_regions = nullptr;  // null: the mode does not count over regions
};

/// All modes, the default first; null ends them.
extern const NamedMode* const named_modes[];
extern const NamedMode charge_refund_mode;

/// The mode of limits of running requests, which no configuration names.
extern const NamedMode concurrency_mode;

constexpr std::uint64_t lease_auto = 0;

/// The fate of a request that is over a limit.
enum class Enforced : unsigned char {
    yes,           ///< it is rejected
    dry_run,       ///< it passes, and is counted
    by_a_variable  ///< each request says which of the two
};

struct NotedRate {
    Rate rate;               // or a burst, as SeenRates has it
    const StoreConf* store;  // in which it counts; null: `local`
};

/// One limit, as the limiter counts it. Whoever owns it makes every member final before the first request,
/// but for what is mutable, and keeps it as long as the configuration.
struct Limit {
    std::string_view name;  // never empty
    const NamedKind* kind;  // never null; see named_at()

    bool variable_rate;   // each request brings its own rate
    bool variable_burst;  // each request brings its own burst
    Rate rate;            // meaningless where it is variable
    std::int64_t burst;   // 0: it is variable, or windows count
    std::int64_t delay;  // so many tokens of the burst pass at once, and what is above waits; 0: nothing does

    const NamedMode* mode;
    std::uint64_t lease;  // tokens taken at a time; lease_auto: as many as it takes

    StoreConf* store;  // null: `local`, or each request names its own
    bool local;

    Enforced enforced;

    Millis penalty;           // so long a key stays rejected; 0: as long as nothing is left
    mutable bool keeps_keys;  // a limit of its name has penalties, which live on in the keys of its windows

    bool reserves;  // an estimate is charged before the request, where its mode charges then

    std::string_view
        head;  // start of the texts that identify its windows; empty: it differs from request to request

    mutable std::size_t tally;              // which one of Tallies, counted from 1; 0: the store says
    mutable std::size_t tally_without_key;  // which one, from 0, counts the requests without a key

    // Values of variables, as this worker has noted them last.
    mutable NotedRate noted_rate;
    mutable NotedRate noted_burst;

    /// The kind that counts for a request. `burst`: it has one.
    const NamedKind& named_at(bool burst) const noexcept {
        return burst || kind->without_burst == nullptr ? *kind : *kind->without_burst;
    }

    /// The kind of the windows that it has at this rate.
    WindowKind kind_at(const Rate& at, bool burst) const noexcept {
        return kind_in(at.calendar, named_at(burst).window_kind);
    }
};

/// How a request goes on when a limit cannot be checked.
enum class OnError : unsigned char { allow, deny, local };

/// All that one configuration says to the limiter. Owned by whoever reads it, and outlives what a worker
/// makes of it.
struct Configuration {
    std::vector<StoreConf*> stores;    // in the order of their blocks
    std::vector<const Limit*> limits;  // every limit of every place where it is in effect

    Zone* zone = nullptr;                 // null: nothing is limited
    Tallies* tallies = nullptr;           // null: nothing is limited; see make_tallies()
    KnownOverrides* overrides = nullptr;  // null: nothing is limited; see make_overrides()
    bool plain_keys = false;              // operators are shown keys as they are
};

/// The configuration that this process serves requests by; null: there is none. Whoever runs the limiter
/// defines it.
const Configuration* configuration_at_work() noexcept;

/// The store that a limit names so, or null.
inline StoreConf* find_store(const Configuration& configuration, std::string_view name) noexcept {
    const auto found = std::find_if(
        configuration.stores.begin(), configuration.stores.end(),
        [name](const StoreConf* store) { return store->name == name && store->home == nullptr; });
    return found != configuration.stores.end() ? *found : nullptr;
}

}  // namespace rate_limit
