#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/overrides/shared_state.h"
#include "core/overrides/shared_text.h"
#include "limiter/configuration.h"
#include "limiter/store_conf.h"

namespace rate_limit {

class Shard;
struct Reply;

/// The text of the overrides that the machines of a store share, as Redis has it: a hash of `version` and
/// `text` at `PREFIX!overrides`, which no window can have as its key.
struct SharedOverrides {
    std::string raw_version;   ///< the version as stored; empty: there is none
    std::int64_t version = 0;  ///< the version as a number; 0: it is none
    bool absent = false;       ///< there is neither version nor text
    SharedTextError error = SharedTextError::none;
    std::vector<SharedOverride> all;
    std::string text;

    /// Versions are below this; a greater one is not of this module.
    static constexpr std::int64_t end_of_versions = 100'000'000'000'000'000;
};

/// Its key in Redis. Throws std::bad_alloc.
std::string overrides_key(const StoreConf& store);

/// The shard that has it; null without memory.
Shard* shard_of_overrides(const StoreConf& store) noexcept;

/// Reads the reply to HMGET version text. False: it is no such reply. Throws std::bad_alloc.
bool read_overrides(const Reply& reply, SharedOverrides& shared);

/// Makes them those of this machine, and keeps them as the last good ones, unless they are older than what is
/// known, or this worker leaves: workers of a later configuration may know others, and these are no news to
/// it. Those of limits that this machine does not have take no room here. Throws std::bad_alloc.
void take_up(const StoreConf& store, const SharedOverrides& shared);

/// A worker that leaves has set this one, or has ended it: that alone changes here. Throws std::bad_alloc.
void take_own(const StoreConf& store, const SharedOverride& what, bool ended);

/// The last good ones, as far as they have not ended, perhaps none; nothing where this machine has never seen
/// any. Throws std::bad_alloc.
std::optional<std::vector<SharedOverride>> last_good(const StoreConf& store);

/// Whether this machine has room for `what`, which is one of `all`, once it takes them up. Throws
/// std::bad_alloc.
bool has_room(const StoreConf& store, const std::vector<SharedOverride>& all, const SharedOverride& what);

/// The way to bring overrides into Redis again.
enum class Remedy : unsigned char {
    change,    ///< the next override that is set
    deletion,  ///< the key is to be deleted: until then none can be set
};

/// Logs, once, that what Redis has cannot be taken up: `reason`. What was known holds.
void tell_unusable(const StoreConf& store, const char* reason, Remedy remedy) noexcept;

}  // namespace rate_limit
