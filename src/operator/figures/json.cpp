#include <optional>

#include "core/text/json_text.h"
#include "limiter/store_conf.h"
#include "limiter/tallies/tallies.h"
#include "limiter/zone.h"
#include "operator/figures/limits.h"
#include "operator/figures/lower_case.h"
#include "operator/figures/memory.h"
#include "operator/figures/minutes.h"
#include "operator/figures/nodes.h"
#include "operator/figures/overrides.h"
#include "operator/figures/pages.h"
#include "operator/figures/period_text.h"
#include "operator/figures/shards.h"
#include "operator/figures/top.h"
#include "operator/serving.h"

namespace rate_limit {

namespace {

/// Null: no limit stands anywhere.
void write_requests(JsonText& json, Tallies* tallies) {
    json.name("requests").begin_object();
    for (const Outcome outcome : request_outcomes) {
        json.name(lower_case(to_string(outcome)))
            .count(tallies != nullptr ? tallies->requests().count(outcome) : 0);
    }
    json.end_object();
}

/// Limits of running requests have numbers without a period.
void write_rates(JsonText& json, const ToldLimit& limit) {
    json.name("rates").begin_array();
    for (const Rate& rate : limit.rates) {
        json.begin_object().name("limit").number(rate.limit);
        if (limit.tally->is_slots()) {
            json.name("period").null();
        } else {
            write_period(json, rate.period, rate.month);
        }
        json.end_object();
    }
    json.end_array();
}

void write_if_any(JsonText& json, std::string_view name, const std::optional<std::uint64_t>& count) {
    json.name(name);
    if (count) {
        json.count(*count);
    } else {
        json.null();
    }
}

/// Writes what the configuration says of a limit. Limits that are counted together are of many kinds.
void write_kind(JsonText& json, const Tally& tally) {
    const Limit* limit = tally.limit;
    json.name("name").text(tally.name);
    json.name("store").text(tally.store_name);
    if (limit != nullptr) {
        json.name("mode").text(limit->mode->name);
        json.name("window").text(name_of(limit->by_bucket ? WindowKind::bucket : limit->window_kind));
    } else {
        json.name("mode").null().name("window").null();
    }
    json.name("enforced");
    if (limit == nullptr || limit->enforced == Enforced::by_a_variable) {
        json.null();
    } else {
        json.number(is_dry(tally) ? 0 : 100);
    }
}

void write_limit(JsonText& json, const Configuration& main, const ToldLimit& limit) {
    const Tally& tally = *limit.tally;
    json.begin_object();
    write_kind(json, tally);
    write_rates(json, limit);
    json.name("decisions").begin_object();
    for (const Outcome outcome : decided_outcomes) {
        json.name(lower_case(to_string(outcome))).count(tally.counters.own_count(decided_of(outcome)));
    }
    json.end_object();
    json.name("unasked").count(tally.counters.own_count(Decided::unasked));
    json.name("charged").count(tally.counters.own_count(Decided::cost));
    json.name("no_key").count(tally.counters.own_misses());
    write_if_any(json, "running", limit.now.running);
    write_if_any(json, "slots", limit.now.slots);
    write_minutes(json, main, tally);
    json.end_object();
}

/// The members before the limits.
void write_head(JsonText& json, const Configuration& main) {
    const Serving by = serving();
    json.name("version").text(by.module);
    json.name("nginx").text(by.nginx);
    json.name("host").text(by.host);
    json.name("time").time(now_millis());
    json.name("workers").number(by.workers);
    json.name("since");
    if (main.zone != nullptr) {
        json.time(main.zone->since());
    } else {
        json.null();
    }
    write_requests(json, main.tallies);
}

/// The members after those of every configuration, where no limit stands anywhere: nothing is counted.
void write_nothing(JsonText& json) {
    json.name("limits").begin_array().end_array();
    json.name("stores").begin_array().end_array();
    json.name("zone").null();
    json.name("top").begin_object();
    json.name("since").null();
    json.name("total").count(0).name("others").count(0);
    json.name("keys").begin_array().end_array().end_object();
    json.name("overrides").begin_array().end_array();
}

/// A piece for each limit, shard, node, key and override, and for each of the others.
class Everything final : public Document {
public:
    Everything(const Configuration& main, const OperatorRights& rights)
        : main_(main), rights_(rights), shards_(main) {
        if (main.zone != nullptr) {  // else no limit stands anywhere
            limits_ = limits_with_seen_rates(main);
        }
    }

    bool write_more() override {
        switch (part_) {
            case Part::head:
                write_head(json_.begin_object(), main_);
                if (main_.zone == nullptr) {
                    write_nothing(json_);
                    break;
                }
                return begin_array("limits", Part::limits);
            case Part::limits:
                return write_next(limits_, [this](const auto& limit) { write_limit(json_, main_, limit); }) ||
                       begin_array("stores", Part::shards);
            case Part::shards:
                return write_next_shard() || go_on(Part::windows);
            case Part::nodes:
                return write_next(nodes_, [this](const auto& node) { write_node(json_, node); }) ||
                       end_shard();
            case Part::windows:
                look_at_windows(*main_.zone);
                return go_on(Part::top);
            case Part::top:
                write_memory(json_, main_);
                top_ = top_of(main_);
                write_top_sums(json_.name("top").begin_object(), top_);
                return begin_array("keys", Part::keys);
            case Part::keys:
                return write_next(top_.keys,
                                  [this](const auto& key) { write_top_key(json_, key, plain()); }) ||
                       begin_overrides();
            case Part::overrides:
                if (write_next(overrides_,
                               [this](const auto& shown) { write_override(json_, shown, plain()); })) {
                    return true;
                }
                break;
        }
        json_.end_object();
        return false;
    }

    std::string take() override { return json_.take() + "\n"; }

private:
    enum class Part : unsigned char { head, limits, shards, nodes, windows, top, keys, overrides };

    bool plain() const noexcept { return rights_.plain_keys; }

    bool go_on(Part part) noexcept {
        part_ = part;
        return true;
    }

    bool begin_array(std::string_view name, Part part) {
        json_.name(name).begin_array();
        next_ = 0;
        return go_on(part);
    }

    /// False: all of the array is written, and its end.
    template <typename Each, typename Write>
    bool write_next(const std::vector<Each>& all, Write&& write) {
        if (next_ == all.size()) {
            json_.end_array();
            return false;
        }
        write(all[next_++]);
        return true;
    }

    /// The shards of a store come one after the other. False: there are no more.
    bool write_next_shard() {
        const std::optional<ShardFigures> shard = shards_.next();
        const bool same_store = in_store_ && shard && shard->store == store_;
        if (in_store_ && !same_store) {
            json_.end_array().end_object();
        }
        if (!shard) {
            json_.end_array();
            return false;
        }
        if (!same_store) {
            json_.begin_object().name("name").text(shard->subject.store).name("shards").begin_array();
        }
        in_store_ = true;
        store_ = shard->store;
        write_shard(json_.begin_object(), *shard);
        nodes_.clear();
        if (shard->store != nullptr) {
            nodes_ = nodes_of(*shard->store, *shard->shard);
        }
        return begin_array("nodes", Part::nodes);
    }

    bool end_shard() {
        json_.end_object();
        return go_on(Part::shards);
    }

    bool begin_overrides() {
        json_.end_object();
        overrides_ = overrides_of(main_);
        return begin_array("overrides", Part::overrides);
    }

    const Configuration& main_;
    const OperatorRights& rights_;
    JsonText json_;
    Part part_ = Part::head;
    std::size_t next_ = 0;  // the next element of the array that is being written
    std::vector<ToldLimit> limits_;
    ShardWalk shards_;
    bool in_store_ = false;
    const StoreConf* store_ = nullptr;  // whose shards are being written
    std::vector<NodeFigures> nodes_;    // nodes of the shard that is being written
    Top top_;
    std::vector<ShownOverride> overrides_;
};

}  // namespace

std::unique_ptr<Document> tell_json(const Configuration& main, const OperatorRights& rights) {
    return std::make_unique<Everything>(main, rights);
}

}  // namespace rate_limit
