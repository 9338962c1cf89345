#pragma once

#include <cstdint>
#include <optional>

#include "core/limit/window.h"
#include "limiter/charges/losses.h"
#include "limiter/charges/nodes.h"
#include "limiter/charges/shard_counters.h"
#include "limiter/kinds/owed/debt.h"
#include "limiter/kinds/owed/giving_back.h"
#include "limiter/loop.h"
#include "limiter/store_conf.h"

namespace rate_limit {

/// The counts that the primary of a shard has confirmed, of windows that only grow, and what its successor is
/// told of them. Redis replicates asynchronously: the last charges that a primary has taken are lost with it.
/// A machine remembers what it was last told of each window (core/machine/records/confirmed.h), and the first
/// charge that a worker sends to another primary says it: the window there has so much at least, and then the
/// charge.
///
/// Another primary is one that the topology names; a server at another address of a name; a node of a cluster
/// that another one names; and whatever takes charges after READONLY. If it is the same, it knows all that.
class Confirmations {
public:
    /// So many milliseconds before it was away what a primary confirmed may be lost with it.
    static constexpr Millis may_be_lost = 10'000;

    /// So many milliseconds longer than this worker another one may go on with the former primary, which
    /// confirms more to it. What the next one has confirmed meanwhile it is told again, to no effect.
    static constexpr Millis heard_late = 3'000;

    /// All outlive this.
    Confirmations(const StoreConf& store, const ShardConf& shard, const Nodes& nodes, ShardCounters& counters,
                  Losses& lost) noexcept;

    /// Loads what take() reads of the table into the cache, while the caller has other things to do.
    void prefetch(const Debt& owed) const noexcept;

    /// The primary has taken this charge or refund, which left at `sent`, and the window is `answer` by that.
    /// `former`: as the charge told it, which has `raised` the window by so much.
    void take(const Debt& owed, const Window& answer, Millis sent, const std::optional<Window>& former,
              std::int64_t raised) noexcept;

    /// An operator has given something back, or perhaps: what was confirmed before counts no more.
    void make_void(const GivingBack& what) noexcept;

    /// The primary takes no charges, until it takes one.
    void primary_is_away() noexcept {
        if (!away_) {
            away_ = now_millis();
        }
    }

    /// Another server may be the primary from now on.
    void change_primary() noexcept;

    /// The window that `owed` is charged to, as a former primary has confirmed it, if the present one may not
    /// know that. `redirected`: the charge leaves for a node that another one has named.
    std::optional<Window> of_former(const Debt& owed, bool redirected, Millis now) noexcept;

private:
    void look_where_name_leads() noexcept;
    void count(const Debt& owed, const Window& answer, const Window& former, std::int64_t raised) noexcept;

    const StoreConf& store_;
    const Nodes& nodes_;
    ShardCounters& counters_;
    Losses& lost_;
    const bool by_name_;
    const bool may_fail_over_;    // the shard has, or may get, another server that takes the primary's place
    std::optional<Millis> away_;  // since when the primary takes no charges
    std::optional<Millis> changed_;  // when another one last took its place
    Millis first_ = 0;               // what was confirmed from then on may be lost since
    std::optional<Address> server_;  // where the name has led to
    Msec connected_ = 0;             // Node::since() of that
};

}  // namespace rate_limit
