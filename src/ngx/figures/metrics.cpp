#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "core/text/metrics_text.h"
#include "ngx/base/zone.h"
#include "ngx/conf/redis_conf.h"
#include "ngx/conf/tallies.h"
#include "ngx/figures/limits.h"
#include "ngx/figures/lower_case.h"
#include "ngx/figures/memory.h"
#include "ngx/figures/nodes.h"
#include "ngx/figures/overrides.h"
#include "ngx/figures/pages.h"
#include "ngx/figures/shards.h"

namespace rate_limit {

namespace {

using Type = MetricsText::Type;

constexpr std::string_view version =
#include "version.inc"
    ;

void write_build(MetricsText& text, const MainConf& main) {
    text.family("build_info", Type::gauge, "Always 1; its labels say which versions run.");
    text.sample({{"version", version}, {"nginx", NGINX_VERSION}}, std::uint64_t{1});
    text.family("zone_created_timestamp_seconds", Type::gauge,
                "When the shared memory was made: all counters began at 0 then.");
    text.sample({}, static_cast<double>(main.zone->counters().since()) / 1000);
}

void write_requests(MetricsText& text, Tallies& tallies) {
    text.family("requests_total", Type::counter,
                "Requests that have ended, by what their limits together decided.");
    for (const Outcome outcome : request_outcomes) {
        text.sample({{"outcome", lower_case(to_string(outcome))}}, tallies.requests().count(outcome));
    }
}

void write_decisions(MetricsText& text, const Tallies& tallies) {
    text.family("decisions_total", Type::counter,
                "What each limit decided, when it did: a request counts once for each of its limits.");
    for (const Tally& tally : tallies.all()) {
        for (const Outcome outcome : decided_outcomes) {
            text.sample({{"limit", tally.name},
                         {"store", tally.store_name},
                         {"outcome", lower_case(to_string(outcome))}},
                        tally.counters.count(decided_of(outcome)));
        }
    }
    text.family("unasked_decisions_total", Type::counter, "Decisions for which no store was asked.");
    for (const Tally& tally : tallies.all()) {
        text.sample({{"limit", tally.name}, {"store", tally.store_name}},
                    tally.counters.count(Decided::unasked));
    }
    text.family("charged_cost_total", Type::counter, "What requests were charged.");
    for (const Tally& tally : tallies.all()) {
        text.sample({{"limit", tally.name}, {"store", tally.store_name}},
                    tally.counters.count(Decided::cost));
    }
}

/// The greatest of each period, of all limits of a tally whose rates are constant.
void write_limits(MetricsText& text, const MainConf& main, const Tallies& tallies) {
    text.family("limit", Type::gauge, "The limit of a period, in seconds, where the configuration says it.");
    const std::vector<Rates> rates = constant_rates_of(main);
    for (std::size_t i = 0; i < rates.size(); ++i) {
        const Tally& tally = tallies.all()[i];
        std::map<std::int64_t, std::int64_t> limits;
        for (const auto& [limit, period] : rates[i]) {
            std::int64_t& greatest = limits[period];
            greatest = std::max(greatest, limit);
        }
        for (const auto& [period, limit] : limits) {
            text.sample(
                {{"limit", tally.name}, {"store", tally.store_name}, {"period", std::to_string(period)}},
                static_cast<std::uint64_t>(limit));
        }
    }
    text.family("enforced_ratio", Type::gauge,
                "The part of the keys for which the limit is enforced; 0 is a dry run.");
    for (const Tally& tally : tallies.all()) {
        if (tally.limit->dry_run.value == nullptr) {
            text.sample({{"limit", tally.name}, {"store", tally.store_name}},
                        std::uint64_t{tally.limit->dry_run.on != 0 ? 0U : 1U});
        }
    }
}

/// A piece for each group of families, in this order.
constexpr void (*groups[])(MetricsText& text, const MainConf& main) = {
    write_build,
    [](MetricsText& text, const MainConf& main) { write_requests(text, *main.tallies); },
    [](MetricsText& text, const MainConf& main) { write_decisions(text, *main.tallies); },
    [](MetricsText& text, const MainConf& main) { write_limits(text, main, *main.tallies); },
    write_shard_metrics,
    write_node_metrics,
    write_memory_metrics,
    write_override_metrics,
};

class Metrics final : public Document {
public:
    explicit Metrics(const MainConf& main) noexcept : main_(main) {}

    bool write_more() override {
        if (main_.zone == nullptr) {
            return false;  // no limit stands anywhere
        }
        groups[next_++](text_, main_);
        return next_ < std::size(groups);
    }

    std::string take() override { return text_.take(); }

private:
    const MainConf& main_;
    MetricsText text_;
    std::size_t next_ = 0;
};

}  // namespace

std::unique_ptr<Document> tell_metrics(const MainConf& main) {
    return std::make_unique<Metrics>(main);
}

}  // namespace rate_limit
