#pragma once

#include <string_view>

#include "core/pacing.h"
#include "core/topology/topology.h"
#include "limiter/charges/charges.h"
#include "limiter/charges/nodes.h"
#include "limiter/concurrency/holds.h"
#include "limiter/leases/fetches.h"
#include "limiter/store_conf.h"
#include "limiter/wire/node/command_sample.h"

namespace rate_limit {

class Deadlines;

/// One shard as one worker sees it: its nodes, and the charges and the tokens on their way.
class Shard final : private Nodes::Owner {
public:
    /// `route`: its own; in a cluster the number of its group in the SlotMap.
    Shard(const StoreConf& store, const ShardConf& shard, Route route, Deadlines& deadlines,
          UnansweredBatches& unanswered, NumberedWindows& numbered_refunds, Guide& guide);
    ~Shard() { shut_down(); }
    Shard(const Shard&) = delete;
    Shard& operator=(const Shard&) = delete;

    /// These are its nodes from now on. Throws std::bad_alloc.
    void assign(const Group& group);

    /// The configured name; in a cluster the address of the primary.
    std::string_view name() const noexcept {
        return in_cluster_ ? std::string_view(nodes_.primary().name()) : name_;
    }
    std::string_view store_name() const noexcept { return store_.name; }

    /// How old the primary's answer may be to stand for a check of a window with this period, in seconds.
    Millis freshness(std::int64_t period) const noexcept {
        return store_.fresh ? static_cast<Millis>(*store_.fresh) : default_freshness(period);
    }

    Nodes& nodes() noexcept { return nodes_; }
    const Nodes& nodes() const noexcept { return nodes_; }
    Charges& charges() noexcept { return charges_; }
    const Charges& charges() const noexcept { return charges_; }
    Hoard& hoard() noexcept { return hoard_; }
    Fetches& fetches() noexcept { return fetches_; }
    Holds& holds() noexcept { return holds_; }
    Deadlines& deadlines() noexcept { return deadlines_; }
    HedgeBudget& hedges() noexcept { return hedges_; }
    ShardCounters& counters() noexcept { return counters_; }

    /// Tells all workers, once a minute, of which keys this one's commands were. To be called about once a
    /// second.
    void tell_hot_keys(Millis now) noexcept { sample_.tell(name(), now); }

    void shut_down() noexcept {
        charges_.send_last();
        nodes_.shut_down();
        charges_.give_up_unanswered();
        sample_.tell_last(name());
    }

private:
    void on_primary_usable() noexcept override { charges_.send_soon(); }
    void on_primary_unusable() noexcept override { charges_.close_gate(); }
    void on_second_line_of_primary() noexcept override { charges_.change_way(); }
    void on_primary_demoted() noexcept override { charges_.suspect_primary(); }
    void on_primary_changed() noexcept override {
        fetches_.change_primary();
        holds_.change_primary();
        charges_.change_primary();
    }

    const StoreConf& store_;
    const std::string_view name_;
    const bool in_cluster_;
    Deadlines& deadlines_;
    HedgeBudget hedges_;
    ShardCounters counters_;
    CommandSample sample_;
    Nodes nodes_;
    Charges charges_;
    Hoard hoard_;
    Fetches fetches_;
    Holds holds_;
};

}  // namespace rate_limit
