#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "core/text/metrics_text.h"
#include "ngx/base/zone.h"
#include "ngx/conf/redis_conf.h"
#include "ngx/figures/limits.h"
#include "ngx/figures/lower_case.h"
#include "ngx/figures/memory.h"
#include "ngx/figures/nodes.h"
#include "ngx/figures/overrides.h"
#include "ngx/figures/pages.h"
#include "ngx/figures/shards.h"
#include "ngx/tallies/tallies.h"

namespace rate_limit {

namespace {

using Type = MetricsText::Type;

constexpr std::string_view version =
#include "version.inc"
    ;

void write_build(MetricsText& text, const MainConf& main) {
    text.family("build_info", Type::gauge, "Always 1; its labels say which versions run.");
    text.sample({{"version", version}, {"nginx", NGINX_VERSION}}, std::uint64_t{1});
    if (main.zone == nullptr) {
        return;
    }
    text.family("zone_created_timestamp_seconds", Type::gauge,
                "When the shared memory was made: all counters began at 0 then.");
    text.sample({}, static_cast<double>(main.zone->counters().since()) / 1000);
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

void write_decisions(MetricsText& text, const Tally& tally) {
    for (const Outcome outcome : decided_outcomes) {
        text.sample(
            {{"limit", tally.name}, {"store", tally.store_name}, {"outcome", lower_case(to_string(outcome))}},
            tally.counters.count(decided_of(outcome)));
    }
}

void write_unasked(MetricsText& text, const Tally& tally) {
    text.sample({{"limit", tally.name}, {"store", tally.store_name}}, tally.counters.count(Decided::unasked));
}

void write_cost(MetricsText& text, const Tally& tally) {
    text.sample({{"limit", tally.name}, {"store", tally.store_name}}, tally.counters.count(Decided::cost));
}

void write_enforced(MetricsText& text, const Tally& tally) {
    if (tally.limit->dry_run.value == nullptr) {
        text.sample({{"limit", tally.name}, {"store", tally.store_name}},
                    std::uint64_t{tally.limit->dry_run.on != 0 ? 0U : 1U});
    }
}

/// Families with samples of each limit: a piece for each of these.
constexpr struct {
    void (*begin)(MetricsText& text);
    void (*write)(MetricsText& text, const Tally& tally);
} of_limits[] = {
    {[](MetricsText& text) {
         text.family("decisions_total", Type::counter,
                     "What each limit decided, when it did: a request counts once for each of its limits.");
     },
     write_decisions},
    {[](MetricsText& text) {
         text.family("unasked_decisions_total", Type::counter, "Decisions for which no store was asked.");
     },
     write_unasked},
    {[](MetricsText& text) {
         text.family("charged_cost_total", Type::counter, "What requests were charged.");
     },
     write_cost},
    {[](MetricsText& text) {
         text.family(
             "enforced_ratio", Type::gauge,
             "The part of the keys for which the limit is enforced by the configuration; 0 is a dry run.");
     },
     write_enforced},
};

/// The greatest of each period, of all limits of a tally whose rates are constant.
void write_limits(MetricsText& text, const MainConf& main) {
    text.family("limit", Type::gauge, "The limit of a period, in seconds, where the configuration says it.");
    const std::vector<Rates> rates = constant_rates_of(main);
    for (std::size_t i = 0; i < rates.size(); ++i) {
        const Tally& tally = main.tallies->all()[i];
        std::map<std::int64_t, std::int64_t> limits;
        for (const auto& [limit, period] : rates[i]) {
            limits[period] = std::max(limits[period], limit);
        }
        for (const auto& [period, limit] : limits) {
            text.sample(
                {{"limit", tally.name}, {"store", tally.store_name}, {"period", std::to_string(period)}},
                static_cast<std::uint64_t>(limit));
        }
    }
}

/// The other families: a piece for each of these.
constexpr void (*others[])(MetricsText& text, const MainConf& main) = {
    write_build,          [](MetricsText& text, const MainConf& main) { write_requests(text, main.tallies); },
    write_limits,         write_shard_metrics,
    write_node_metrics,   [](MetricsText& /*text*/, const MainConf& main) { look_at_windows(*main.zone); },
    write_memory_metrics, write_override_metrics,
};

/// The first of them: the rest tell of limits, of their stores and of the memory.
constexpr std::size_t others_without_limits = 2;

class Metrics final : public Document {
public:
    explicit Metrics(const MainConf& main) noexcept : main_(main) {}

    bool write_more() override {
        if (next_ < std::size(others)) {
            others[next_++](text_, main_);
        } else {
            write_of_limits();
        }
        return main_.zone != nullptr ? next_ < std::size(others) + std::size(of_limits)
                                     : next_ < others_without_limits;
    }

    std::string take() override { return text_.take(); }

private:
    void write_of_limits() {
        const auto& family = of_limits[next_ - std::size(others)];
        const std::vector<Tally>& all = main_.tallies->all();
        if (limit_ == 0) {
            family.begin(text_);
        }
        if (limit_ < all.size()) {
            family.write(text_, all[limit_]);
        }
        if (++limit_ >= all.size()) {
            limit_ = 0;
            ++next_;
        }
    }

    const MainConf& main_;
    MetricsText text_;
    std::size_t next_ = 0;
    std::size_t limit_ = 0;  // of the family that is being written
};

}  // namespace

std::unique_ptr<Document> tell_metrics(const MainConf& main) {
    return std::make_unique<Metrics>(main);
}

}  // namespace rate_limit
