#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/overrides/override.h"
#include "limiter/store_conf.h"

namespace rate_limit {

class Shard;
struct Reply;

/// The overrides that the machines of a store share, as Redis has them: a hash at `PREFIX!overrides`, which
/// no window can have as its key, of `version` and a field for each.
struct SharedOverrides {
    /// A field and its text.
    using Field = std::pair<std::string, std::string>;

    std::string raw_version;   ///< the version as stored; empty: there is none
    std::int64_t version = 0;  ///< the version as a number; 0: it is none
    bool absent = false;       ///< there is nothing at all
    SharedError error = SharedError::none;
    Nanos asked = 0;            ///< steady_nanos() when it was asked for, or before
    std::vector<Override> all;  ///< those of limits that this machine has
    std::vector<Field> ended;   ///< those that have ended

    /// Versions are below this; a greater one is not of this module.
    static constexpr std::int64_t end_of_versions = 9'000'000'000'000'000;
};

/// Its key in Redis. Throws std::bad_alloc.
std::string overrides_key(const StoreConf& store);

/// The shard that has it; null without memory.
Shard* shard_of_overrides(const StoreConf& store) noexcept;

/// Reads the reply to what was `asked` at that steady_nanos(). False: it is no reply to HGETALL. Throws
/// std::bad_alloc.
bool read_overrides(const StoreConf& store, const Reply& reply, Nanos asked, SharedOverrides& shared);

/// Makes them those of this machine, unless they are older than what is known, or this worker leaves: workers
/// of a later configuration may have other limits. Those of limits that this machine does not have take no
/// room here. Throws std::bad_alloc.
void take_up(const StoreConf& store, const SharedOverrides& shared);

/// Whether the zone has the last good ones, as far as they have not ended, perhaps none.
bool has_last_good(const StoreConf& store) noexcept;

/// The fields of the last good ones, of limits that this machine has. Throws std::bad_alloc.
std::vector<SharedOverrides::Field> last_good(const StoreConf& store);

/// From now on this worker looks, in turn with the others of its machine, at what the machines of each store
/// share: about once a second, where a configuration says `overrides shared`.
void start_shared_watch() noexcept;

}  // namespace rate_limit
