#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/bucket/bucket_tokens.h"
#include "core/machine/workers/note_walk.h"
#include "limiter/charges/shard_counters.h"
#include "limiter/kinds/owed/demand.h"
#include "limiter/loop.h"
#include "redis/keys/routes.h"

namespace rate_limit {

class Charges;
class Nodes;
class Zone;
struct StoreConf;

/// Tokens of one shard's windows that are at hand on this machine. They are in the memory of the window, for
/// all workers, and are noted there with its Redis key, so that any worker can give them back.
class Hoard {
public:
    /// `route` as Backlog has it. All outlive this.
    Hoard(const StoreConf& store, Route route, const Nodes& nodes, Charges& charges,
          ShardCounters& counters) noexcept;

    /// Notes tokens of the window that ends at `reset`. False without room for it.
    bool note(std::string_view key, const Demand& demand, Millis reset, std::int64_t tokens,
              Millis now) noexcept;

    /// Notes tokens of a bucket that are at hand, or to come, and die at `end`. False without room for it.
    bool note(std::string_view key, const Demand& demand, Ticks end) noexcept;

    /// Notes tokens that are left of what was fetched for the window; a leaving worker gives them back.
    void keep(std::string_view key, const Demand& demand, Millis reset, std::int64_t tokens,
              Millis now) noexcept;

    /// Notes those of a bucket. Without room for the note they go back, as those of a leaving worker do.
    void keep(std::string_view key, const Demand& demand, Ticks end) noexcept;

    /// A request gives back tokens of the window of `demand` that ends at `reset`: to those at hand, or to
    /// the primary if they cannot be kept.
    void give_back(std::string_view key, const Demand& demand, std::int64_t tokens, Millis reset) noexcept;

    /// A request gives back tokens of a bucket: to those at hand, or to the primary if they cannot be kept.
    void give_back(std::string_view key, const Demand& demand, const Dying& tokens) noexcept;

    /// Gives tokens back to the primary.
    void refund(std::string_view key, const Demand& demand, std::int64_t tokens, Millis reset) noexcept;

    /// Gives back those of a bucket, as far as it has not been refilled without them. False: nothing is worth
    /// it, or the primary is away.
    bool refund(std::string_view key, const Demand& demand, const Dying& tokens) noexcept;

    /// The noted tokens that end() leaves.
    enum class Left : unsigned char {
        nothing,
        tokens,  ///< they are at hand, and noted
        refund,  ///< they are on their way back to the primary
    };

    /// The window of these noted tokens has ended: those that nobody has spent are lost. Those of a bucket
    /// that have died, or `all` of them, go back as far as they are worth it.
    Left end(const Noted& seen, bool all) noexcept;

    /// Gives back to the primary the noted tokens that are not needed, or `all` of them; true if it gave any.
    bool look(const Noted& seen, bool all, Millis now) noexcept;

private:
    std::optional<Left> look_at_bucket(const Noted& seen, bool all) noexcept;

    const Routes& routes_;
    const Route route_;
    const Nodes& nodes_;
    Charges& charges_;
    ShardCounters& counters_;
    Zone& zone_;
};

}  // namespace rate_limit
