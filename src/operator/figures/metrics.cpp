#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/text/metrics_text.h"
#include "limiter/tallies/tallies.h"
#include "limiter/zone.h"
#include "operator/figures/limits.h"
#include "operator/figures/lower_case.h"
#include "operator/figures/memory.h"
#include "operator/figures/nodes.h"
#include "operator/figures/overrides.h"
#include "operator/figures/pages.h"
#include "operator/figures/period_text.h"
#include "operator/figures/shards.h"
#include "operator/serving.h"

namespace rate_limit {

namespace {

using Type = MetricsText::Type;

void write_build(MetricsText& text, const Configuration& main) {
    text.family("build_info", Type::gauge, "Always 1; its labels say which versions run.");
    text.sample({{"version", serving().module}, {"nginx", serving().nginx}}, std::uint64_t{1});
    if (main.zone == nullptr) {
        return;
    }
    text.family("zone_created_timestamp_seconds", Type::gauge,
                "When the shared memory was made: all counters began at 0 then.");
    text.sample({}, static_cast<double>(main.zone->since()) / 1000);
}

/// Null: no limit stands anywhere.
void write_requests(MetricsText& text, Tallies* tallies) {
    text.family("requests_total", Type::counter,
                "Requests that have ended, by what their limits together decided.");
    for (const Outcome outcome : request_outcomes) {
        text.sample({{"outcome", lower_case(to_string(outcome))}},
                    tallies != nullptr ? tallies->requests().count(outcome) : 0);
    }
}

void write_sample(MetricsText& text, const ToldLimit& limit, std::uint64_t value) {
    text.sample({{"limit", limit.tally->name}, {"store", limit.tally->store_name}}, value);
}

void write_decisions(MetricsText& text, const ToldLimit& limit) {
    for (const Outcome outcome : decided_outcomes) {
        text.sample({{"limit", limit.tally->name},
                     {"store", limit.tally->store_name},
                     {"outcome", lower_case(to_string(outcome))}},
                    limit.tally->counters.own_count(decided_of(outcome)));
    }
}

void write_enforced(MetricsText& text, const ToldLimit& limit) {
    const Tally& tally = *limit.tally;
    if (tally.limit != nullptr && tally.limit->enforced != Enforced::by_a_variable) {
        write_sample(text, limit, is_dry(tally) ? 0 : 1);
    }
}

/// The greatest number of all limits of running requests of a tally, where these are constant.
void write_most_at_a_time(MetricsText& text, const ToldLimit& limit) {
    if (limit.tally->is_slots() && !limit.rates.empty()) {
        write_sample(text, limit, static_cast<std::uint64_t>(limit.rates.rbegin()->limit));
    }
}

/// The greatest of each period, of all limits of a tally whose rates are constant.
void write_rates(MetricsText& text, const ToldLimit& limit) {
    if (limit.tally->is_slots()) {
        return;
    }
    std::map<std::string, std::int64_t> limits;
    for (const Rate& rate : limit.rates) {
        std::int64_t& most = limits[period_text(rate.period, rate.month)];
        most = std::max(most, rate.limit);
    }
    for (const auto& [period, most] : limits) {
        text.sample({{"limit", limit.tally->name}, {"store", limit.tally->store_name}, {"period", period}},
                    static_cast<std::uint64_t>(most));
    }
}

constexpr std::array<Family<ToldLimit>, 9> limit_families = {{
    {[](MetricsText& text) {
         text.family("decisions_total", Type::counter,
                     "What each limit decided, when it did: a request counts once for each of its limits.");
     },
     write_decisions},
    {[](MetricsText& text) {
         text.family("unasked_decisions_total", Type::counter, "Decisions for which no store was asked.");
     },
     [](MetricsText& text, const ToldLimit& limit) {
         write_sample(text, limit, limit.tally->counters.own_count(Decided::unasked));
     }},
    {[](MetricsText& text) {
         text.family("charged_cost_total", Type::counter, "What requests were charged.");
     },
     [](MetricsText& text, const ToldLimit& limit) {
         write_sample(text, limit, limit.tally->counters.own_count(Decided::cost));
     }},
    {[](MetricsText& text) {
         text.family("no_key_total", Type::counter,
                     "Requests whose key was empty, so that the limit did not apply.");
     },
     [](MetricsText& text, const ToldLimit& limit) {
         write_sample(text, limit, limit.tally->counters.own_misses());
     }},
    {[](MetricsText& text) {
         text.family(
             "enforced_ratio", Type::gauge,
             "The part of the keys for which the limit is enforced by the configuration; 0 is a dry run.");
     },
     write_enforced},
    {[](MetricsText& text) {
         text.family("limit", Type::gauge,
                     "The limit of a period, in seconds, where the configuration says it.");
     },
     write_rates},
    {[](MetricsText& text) {
         text.family("concurrency_limit", Type::gauge,
                     "How many requests of a key may run at a time, where the configuration says it.");
     },
     write_most_at_a_time},
    {[](MetricsText& text) {
         text.family("concurrency_running", Type::gauge,
                     "Requests of all keys that run on this machine and are limited in how many may.");
     },
     [](MetricsText& text, const ToldLimit& limit) {
         if (limit.now.running) {
             write_sample(text, limit, *limit.now.running);
         }
     }},
    {[](MetricsText& text) {
         text.family("concurrency_slots", Type::gauge,
                     "Slots of all keys that this machine holds in Redis, as counted within a second.");
     },
     [](MetricsText& text, const ToldLimit& limit) {
         if (limit.now.slots) {
             write_sample(text, limit, *limit.now.slots);
         }
     }},
}};

class Metrics final : public Document {
public:
    explicit Metrics(const Configuration& main) : main_(main), shard_walk_(main) {}

    bool write_more() override {
        switch (part_) {
            case Part::head:
                write_build(text_, main_);
                write_requests(text_, main_.tallies);
                return main_.zone != nullptr && go_on(Part::gather);
            case Part::gather:
                return gather_next() || go_on(Part::limits);
            case Part::limits:
                return limit_writer_.write_more(text_, limit_families, limits_) || go_on(Part::shards);
            case Part::shards:
                return shard_writer_.write_more(text_, shard_families, shards_) || go_on(Part::nodes);
            case Part::nodes:
                return node_writer_.write_more(text_, node_families, nodes_.all()) || begin_node_counts();
            case Part::node_counts:
                return node_count_writer_.write_more(text_, node_count_families, nodes_.all()) ||
                       go_on(Part::windows);
            case Part::windows:
                look_at_windows(*main_.zone);
                return go_on(Part::memory);
            case Part::memory:
                write_memory_metrics(text_, main_);
                return go_on(Part::overrides);
            case Part::overrides:
                write_override_metrics(text_, main_);
                break;
        }
        return false;
    }

    std::string take() override { return text_.take(); }

private:
    enum class Part : unsigned char {
        head,
        gather,
        limits,
        shards,
        nodes,
        node_counts,
        windows,
        memory,
        overrides
    };

    bool go_on(Part part) noexcept {
        part_ = part;
        return true;
    }

    /// One shard with its nodes. False: all is there.
    bool gather_next() {
        if (limits_.empty()) {
            limits_ = limits_of(main_);
        }
        const std::optional<ShardFigures> shard = shard_walk_.next();
        if (!shard) {
            return false;
        }
        shards_.push_back(*shard);
        if (shard->store != nullptr) {
            nodes_.add(*shard->store, *shard->shard);
        }
        return true;
    }

    bool begin_node_counts() {
        nodes_.add_others(*main_.zone);
        return go_on(Part::node_counts);
    }

    const Configuration& main_;
    MetricsText text_;
    Part part_ = Part::head;
    ShardWalk shard_walk_;
    std::vector<ToldLimit> limits_;
    std::vector<ShardFigures> shards_;
    ToldNodes nodes_;
    FamilyWriter limit_writer_;
    FamilyWriter shard_writer_;
    FamilyWriter node_writer_;
    FamilyWriter node_count_writer_;
};

}  // namespace

std::unique_ptr<Document> tell_metrics(const Configuration& main) {
    return std::make_unique<Metrics>(main);
}

}  // namespace rate_limit
