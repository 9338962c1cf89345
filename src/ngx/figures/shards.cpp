#include "ngx/figures/shards.h"

#include <algorithm>

#include "ngx/base/zone.h"
#include "ngx/charges/backlog.h"

namespace rate_limit {

namespace {

using Type = MetricsText::Type;

/// wait_bounds in seconds, as texts.
constexpr std::string_view bounds[] = {"0.00025", "0.0005", "0.001", "0.0025", "0.005", "0.01",
                                       "0.025",   "0.05",   "0.1",   "0.25",   "0.5",   "1"};
static_assert(std::size(bounds) == wait_bounds.size());

double seconds(std::uint64_t micros) noexcept {
    return static_cast<double>(micros) / 1e6;
}

/// Calls fn(index of the bound, how many waited at most so long) for each bound, and returns how many waited
/// in all.
template <typename Fn>
std::uint64_t for_each_bucket(const Counters<Wait>& waits, Fn&& fn) {
    std::uint64_t count = 0;
    for (std::size_t bucket = 0; bucket < wait_buckets; ++bucket) {
        count += waits.count(static_cast<Wait>(bucket));
        if (bucket < wait_bounds.size()) {
            fn(bucket, count);
        }
    }
    return count;
}

void write_gauges(MetricsText& text, const MainConf& main) {
    struct Gauge {
        std::string_view name;
        std::string_view help;
        std::uint64_t (*of)(const ShardFigures& found);
    };
    constexpr Gauge gauges[] = {
        {"waiting_windows", "Windows whose charges wait for their primary.",
         [](const ShardFigures& found) { return found.windows; }},
        {"waiting_charges", "Charges and refunds that wait for their primary, as counted within seconds.",
         [](const ShardFigures& found) { return found.charges; }},
        {"lease_tokens_held", "Tokens at hand on this machine, as counted within seconds.",
         [](const ShardFigures& found) {
             return static_cast<std::uint64_t>(std::max<std::int64_t>(0, found.tokens));
         }},
    };
    for (const Gauge& gauge : gauges) {
        text.family(gauge.name, Type::gauge, gauge.help);
        for_each_shard(main, [&](const StoreConf& store, std::size_t i) {
            text.sample({{"store", store.name}, {"shard", store.shards[i].name}},
                        gauge.of(ShardFigures(store, i)));
        });
    }
}

void write_waits(MetricsText& text, const MainConf& main) {
    text.family("store_wait_seconds", Type::histogram,
                "How long requests waited for an answer of the store.");
    for_each_shard(main, [&](const StoreConf& store, std::size_t i) {
        const Counters<Wait> waits = ShardFigures(store, i).counters.waits;
        const std::string_view shard = store.shards[i].name;
        const double sum = seconds(waits.count(Wait::micros));
        const std::uint64_t count = for_each_bucket(waits, [&](std::size_t bound, std::uint64_t until) {
            text.sample({{"store", store.name}, {"shard", shard}, {"le", bounds[bound]}}, until, "_bucket");
        });
        text.sample({{"store", store.name}, {"shard", shard}, {"le", "+Inf"}}, count, "_bucket");
        text.sample({{"store", store.name}, {"shard", shard}}, sum, "_sum");
        text.sample({{"store", store.name}, {"shard", shard}}, count, "_count");
    });
}

}  // namespace

ShardFigures::ShardFigures(const StoreConf& store, std::size_t index) noexcept
    : counters(store.zone->counters(), store, store.shards[index]),
      losses(store.zone->counters(), {store.name, store.shards[index].name, {}}) {
    DebtCounts& counts = store.zone->debt_counts();
    const auto route = static_cast<Route>(index);
    windows = count_waiting(counts, store.routes, route, Routes::all_parts);
    const unsigned parts = store.routes.has_slots() ? Routes::part_count : 1;
    for (unsigned part = 0; part < parts; ++part) {
        const Route of = store.routes.has_slots() ? Routes::first_of(part) : route;
        const DebtCounts::Seen seen = counts.seen(Routes::counted_as(store.routes.digest_of(of)));
        charges += seen.charges;
        tokens += seen.tokens;
    }
}

std::array<WriteFigures, 3> writes_of(const ShardFigures& found) {
    const Counters<Write>& writes = found.counters.writes;
    const auto kind = [&](std::string_view name, Write stored, std::uint64_t dropped, Loss in_doubt) {
        return WriteFigures{name,
                            {{{"stored", writes.count(stored)},
                              {"dropped", dropped},
                              {"in_doubt", found.losses.count(in_doubt)}}}};
    };
    return {
        kind("charge", Write::charges_stored, writes.count(Write::charges_dropped), Loss::charges_in_doubt),
        kind("reservation", Write::reservations_stored, 0, Loss::reservations_in_doubt),
        kind("refund", Write::refunds_stored, writes.count(Write::refunds_dropped), Loss::refunds_in_doubt)};
}

std::array<CountOf, 4> token_events(const ShardFigures& found) {
    const Counters<TokenEvent>& tokens = found.counters.tokens;
    return {{{"fetched", tokens.count(TokenEvent::fetched)},
             {"spent", tokens.count(TokenEvent::spent)},
             {"returned", tokens.count(TokenEvent::returned)},
             {"lost", tokens.count(TokenEvent::lost)}}};
}

void write_shard(JsonText& json, const StoreConf& store, std::size_t index) {
    const ShardFigures found(store, index);
    json.name("name").text(store.shards[index].name);
    json.name("waiting").begin_object();
    json.name("windows").count(found.windows).name("charges").count(found.charges).end_object();
    json.name("writes").begin_object();
    for (const WriteFigures& kind : writes_of(found)) {
        json.name(kind.name).begin_object();
        for (const CountOf& result : kind.results) {
            json.name(result.name).count(result.count);
        }
        json.end_object();
    }
    json.end_object();
    json.name("leases").begin_object();
    json.name("tokens").number(found.tokens);
    for (const CountOf& event : token_events(found)) {
        json.name(event.name).count(event.count);
    }
    json.end_object();
    json.name("wait").begin_object().name("buckets").begin_array();
    const std::uint64_t count =
        for_each_bucket(found.counters.waits, [&](std::size_t bound, std::uint64_t until) {
            json.begin_object().name("le").decimal(seconds(wait_bounds[bound]));
            json.name("count").count(until).end_object();
        });
    json.end_array();
    json.name("sum").decimal(seconds(found.counters.waits.count(Wait::micros)));
    json.name("count").count(count).end_object();
}

void write_shard_metrics(MetricsText& text, const MainConf& main) {
    write_waits(text, main);
    text.family("writes_total", Type::counter, "What became of what was written to the primary.");
    for_each_shard(main, [&](const StoreConf& store, std::size_t i) {
        for (const WriteFigures& kind : writes_of(ShardFigures(store, i))) {
            for (const CountOf& result : kind.results) {
                text.sample({{"store", store.name},
                             {"shard", store.shards[i].name},
                             {"kind", kind.name},
                             {"result", result.name}},
                            result.count);
            }
        }
    });
    write_gauges(text, main);
    text.family("lease_tokens_total", Type::counter, "What became of tokens that were fetched in advance.");
    for_each_shard(main, [&](const StoreConf& store, std::size_t i) {
        for (const CountOf& event : token_events(ShardFigures(store, i))) {
            text.sample({{"store", store.name}, {"shard", store.shards[i].name}, {"event", event.name}},
                        event.count);
        }
    });
}

}  // namespace rate_limit
