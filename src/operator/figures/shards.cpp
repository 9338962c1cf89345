#include "operator/figures/shards.h"

#include <algorithm>
#include <utility>

#include "limiter/charges/backlog.h"
#include "limiter/zone.h"

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
        count += waits.own_count(static_cast<Wait>(bucket));
        if (bucket < wait_bounds.size()) {
            fn(bucket, count);
        }
    }
    return count;
}

template <typename Value>
void write_sample(MetricsText& text, const ShardFigures& found, Value value, std::string_view suffix = {}) {
    text.sample({{"store", found.subject.store}, {"shard", found.subject.shard}}, value, suffix);
}

void write_waits(MetricsText& text, const ShardFigures& found) {
    const Counters<Wait>& waits = found.counters.waits;
    const double sum = seconds(waits.own_count(Wait::micros));
    const auto write_bucket = [&](std::string_view bound, std::uint64_t until) {
        text.sample({{"store", found.subject.store}, {"shard", found.subject.shard}, {"le", bound}}, until,
                    "_bucket");
    };
    const std::uint64_t count = for_each_bucket(
        waits, [&](std::size_t bound, std::uint64_t until) { write_bucket(bounds[bound], until); });
    write_bucket("+Inf", count);
    write_sample(text, found, sum, "_sum");
    write_sample(text, found, count, "_count");
}

void write_writes(MetricsText& text, const ShardFigures& found) {
    for (const WriteFigures& kind : writes_of(found)) {
        for (const CountOf& result : kind.results) {
            text.sample({{"store", found.subject.store},
                         {"shard", found.subject.shard},
                         {"kind", kind.name},
                         {"result", result.name}},
                        result.count);
        }
    }
}

void write_tokens(MetricsText& text, const ShardFigures& found) {
    for (const CountOf& event : token_events(found)) {
        text.sample({{"store", found.subject.store}, {"shard", found.subject.shard}, {"event", event.name}},
                    event.count);
    }
}

}  // namespace

ShardFigures::ShardFigures(const StoreConf& store, std::size_t index) noexcept
    : store(&store),
      shard(&store.shards[index]),
      subject{store.name, store.shards[index].name, {}},
      counters(store.zone->counters(), subject),
      losses(store.zone->counters(), subject) {
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

ShardFigures::ShardFigures(Zone& zone) noexcept
    : subject(Counters<Write>::others()),
      counters(zone.counters(), subject),
      losses(zone.counters(), subject) {}

std::optional<ShardFigures> ShardWalk::next() noexcept {
    for (; store_ < main_.stores.size(); ++store_, shard_ = 0) {
        const StoreConf& store = *main_.stores[store_];
        if (store.used && shard_ < store.shards.size()) {
            const ShardFigures found(store, shard_++);
            all_whole_ = all_whole_ && found.is_whole();
            return found;
        }
    }
    if (!std::exchange(all_whole_, true)) {
        return ShardFigures(*main_.zone);
    }
    return std::nullopt;
}

std::array<WriteFigures, 3> writes_of(const ShardFigures& found) {
    const Counters<Write>& writes = found.counters.writes;
    const auto kind = [&](std::string_view name, Write stored, std::uint64_t dropped, Loss in_doubt,
                          std::uint64_t expired) {
        return WriteFigures{name,
                            {{{"stored", writes.own_count(stored)},
                              {"dropped", dropped},
                              {"in_doubt", found.losses.own_count(in_doubt)},
                              {"expired", expired}}}};
    };
    return {kind("charge", Write::charges_stored, writes.own_count(Write::charges_dropped),
                 Loss::charges_in_doubt, writes.own_count(Write::charges_expired)),
            kind("reservation", Write::reservations_stored, 0, Loss::reservations_in_doubt, 0),
            kind("refund", Write::refunds_stored, writes.own_count(Write::refunds_dropped),
                 Loss::refunds_in_doubt, writes.own_count(Write::refunds_expired))};
}

std::array<CountOf, 4> token_events(const ShardFigures& found) {
    const Counters<TokenEvent>& tokens = found.counters.tokens;
    return {{{"fetched", tokens.own_count(TokenEvent::fetched)},
             {"spent", tokens.own_count(TokenEvent::spent)},
             {"returned", tokens.own_count(TokenEvent::returned)},
             {"lost", tokens.own_count(TokenEvent::lost)}}};
}

void write_shard(JsonText& json, const ShardFigures& found) {
    json.name("name").text(found.subject.shard);
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
    json.name("sum").decimal(seconds(found.counters.waits.own_count(Wait::micros)));
    json.name("count").count(count).end_object();
}

constexpr std::array<Family<ShardFigures>, 6> shard_families = {{
    {[](MetricsText& text) {
         text.family("store_wait_seconds", Type::histogram,
                     "How long requests waited for an answer of the store.");
     },
     write_waits},
    {[](MetricsText& text) {
         text.family("writes_total", Type::counter, "What became of what was written to the primary.");
     },
     write_writes},
    {[](MetricsText& text) {
         text.family("waiting_windows", Type::gauge, "Windows whose charges wait for their primary.");
     },
     [](MetricsText& text, const ShardFigures& found) { write_sample(text, found, found.windows); }},
    {[](MetricsText& text) {
         text.family("waiting_charges", Type::gauge,
                     "Charges and refunds that wait for their primary, as counted within seconds.");
     },
     [](MetricsText& text, const ShardFigures& found) { write_sample(text, found, found.charges); }},
    {[](MetricsText& text) {
         text.family("lease_tokens_held", Type::gauge,
                     "Tokens at hand on this machine, as counted within seconds.");
     },
     [](MetricsText& text, const ShardFigures& found) {
         write_sample(text, found, static_cast<std::uint64_t>(std::max<std::int64_t>(0, found.tokens)));
     }},
    {[](MetricsText& text) {
         text.family("lease_tokens_total", Type::counter,
                     "What became of tokens that were fetched in advance.");
     },
     write_tokens},
}};

}  // namespace rate_limit
