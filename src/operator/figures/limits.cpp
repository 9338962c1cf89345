#include "operator/figures/limits.h"

#include <algorithm>
#include <map>

#include "core/text/figure_text.h"
#include "limiter/zone.h"
#include "operator/figures/minutes.h"
#include "operator/figures/words.h"

namespace rate_limit {

namespace {

/// Calls fn(index, limit) for each limit and each tally in which it may count, by its index.
template <typename Fn>
void for_each_counted(const Configuration& main, Fn&& fn) {
    const std::vector<Tally>& tallies = main.tallies->all();
    for (const Limit* limit : main.limits) {
        if (limit->tally != 0) {
            fn(limit->tally - 1, *limit);
            continue;
        }
        for (std::size_t i = 0; i < tallies.size(); ++i) {
            if (tallies[i].is_of(*limit)) {
                fn(i, *limit);
            }
        }
    }
}

/// Limits without a column are told together with those that have no counters.
ToldLimit without_rates(const Configuration& main, const Tally& tally) noexcept {
    ToldLimit told{&tally, {}, {}, {}, {}};
    const bool of_others = tally.limit == nullptr;
    if (!of_others && (tally.limit->kind->is_spent || tally.store_name == Tallies::no_store)) {
        return told;
    }
    RunningCounts& counts = main.zone->running_counts();
    const RunningCounts::Column column =
        of_others ? RunningCounts::others : counts.check(tally.column, tally.digest);
    const bool has_column = of_others || column != RunningCounts::others;
    told.running = has_column ? main.zone->running(column) : 0;
    if (of_others || tally.store != nullptr) {
        told.slots = has_column ? counts.slots(column) : 0;
    }
    return told;
}

/// In the greatest unit that divides it.
std::string span_text(std::int64_t seconds) {
    struct Unit {
        std::int64_t seconds;
        std::string_view name;
    };
    constexpr Unit units[] = {{86'400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}};
    const Unit& unit = *std::find_if(std::begin(units), std::end(units),
                                     [seconds](const Unit& each) { return seconds % each.seconds == 0; });
    const std::int64_t count = seconds / unit.seconds;
    return (count == 1 ? std::string() : std::to_string(count) + " ").append(unit.name);
}

Figure rates_text(const ToldLimit& limit) {
    std::string text;
    for (const Rate& rate : limit.rates) {
        text += (text.empty() ? "" : ", ") + grouped(static_cast<std::uint64_t>(rate.limit));
        text += limit.tally->limit->kind->has_period
                    ? " per " + (rate.calendar != Calendar::none ? period_text(rate) : span_text(rate.period))
                    : " at a time";
    }
    text = text.empty() ? "a variable says" : text;
    for (const std::int64_t burst : limit.bursts) {
        text += (burst == *limit.bursts.begin() ? ", burst " : " or ") +
                grouped(static_cast<std::uint64_t>(burst));
    }
    return text;
}

void write_rates(JsonText& json, const ToldLimit& limit) {
    json.begin_array();
    for (const Rate& rate : limit.rates) {
        json.begin_object().name("limit").number(rate.limit).name("period");
        if (limit.tally->limit->kind->has_period) {
            write_period(json, rate);
        } else {
            json.null();
        }
        json.end_object();
    }
    json.end_array();
}

MetricsText::Labels labels_of(const ToldLimit& limit) {
    return {{"limit", limit.tally->name}, {"store", limit.tally->store_name}};
}

/// The greatest of each period, of all limits of a tally whose rates are constant.
void write_greatest(MetricsText& text, const ToldLimit& limit) {
    const Limit* const of = limit.tally->limit;
    if (of == nullptr || !of->kind->has_period) {
        return;
    }
    std::map<std::string, std::int64_t> limits;
    for (const Rate& rate : limit.rates) {
        std::int64_t& most = limits[period_text(rate)];
        most = std::max(most, rate.limit);
    }
    for (const auto& [period, most] : limits) {
        MetricsText::Labels labels = labels_of(limit);
        labels.push_back({"period", period});
        text.sample(labels, static_cast<std::uint64_t>(most));
    }
}

/// The greatest number of all limits of running requests of a tally, where these are constant.
Figure most_at_a_time(const ToldLimit& limit) {
    return limit.rates.empty() || limit.tally->limit->kind->has_period ? Figure()
                                                                       : Figure(limit.rates.rbegin()->limit);
}

/// The name of its mode or kind.
template <auto named>
Figure name_of(const ToldLimit& limit) {
    const Limit* of = limit.tally->limit;
    return of != nullptr ? Figure(std::string_view((of->*named)->name)) : Figure();
}

/// The part of the keys for which the limit is enforced, where the configuration says so; all of them are
/// `all`.
template <std::uint64_t all>
Figure enforced(const ToldLimit& limit) {
    const Tally& tally = *limit.tally;
    const bool is_said = tally.limit != nullptr && tally.limit->enforced != Enforced::by_a_variable;
    return is_said ? Figure(is_dry(tally) ? 0 : all) : Figure();
}

// Cells that the configuration decides. Limits that are counted together are of many kinds.

void mode_cell(HtmlText& html, const ToldLimit& limit) {
    const Limit* of = limit.tally->limit;
    if (of == nullptr) {
        html.element("td", "all limits together for whose counters the zone has no room", {{"colspan", "3"}});
        return;
    }
    html.element("td", std::string(of->mode->name).append(of->kind->by_mode));
}

void rates_cell(HtmlText& html, const ToldLimit& limit) {
    if (limit.tally->limit != nullptr) {
        html.element("td", std::get<std::string>(rates_text(limit)));
    }
}

void enforced_cell(HtmlText& html, const ToldLimit& limit) {
    const Limit* of = limit.tally->limit;
    if (of != nullptr) {
        html.element("td", of->enforced == Enforced::by_a_variable ? "a variable says"
                           : is_dry(*limit.tally)                  ? "no: a dry run"
                                                                   : "yes");
    }
}

template <std::size_t which>
Figure late_count(const ToldLimit& limit) {
    return limit.tally->limit != nullptr ? Figure(limit.lately[which]) : Figure();
}

template <Decided decided>
Figure count(const ToldLimit& limit) {
    return limit.tally->counters.own_count(decided);
}

/// A count that only some limits have: the cell of any other is empty.
template <auto what>
Figure own_count(const ToldLimit& limit) {
    const auto& counters = limit.tally->of<decltype(what)>();
    return counters ? Figure(counters->own_count(what)) : Figure();
}

std::optional<double> delayed_seconds(const ToldLimit& limit) noexcept {
    const auto& counters = limit.tally->of<Delaying>();
    return counters ? std::optional(static_cast<double>(counters->own_count(Delaying::millis)) / 1000)
                    : std::nullopt;
}

void write_delayed_seconds(JsonText& json, const ToldLimit& limit) {
    const auto seconds = delayed_seconds(limit);
    seconds ? json.decimal(*seconds) : json.null();
}

void write_delayed_seconds(MetricsText& text, const ToldLimit& limit) {
    if (const auto seconds = delayed_seconds(limit)) {
        text.sample(labels_of(limit), *seconds);
    }
}

using Type = MetricsText::Type;

constexpr Column<ToldLimit> limit_columns[] = {
    {"name", {}, {}, field<&ToldLimit::tally, &Tally::name>},
    {{}, {"Passed in 5 min", true}, {}, late_count<Minute::passed>},
    {{}, {"Rejected in 5 min", true}, {}, late_count<Minute::rejected>},
    {"store", {"Store"}, {}, field<&ToldLimit::tally, &Tally::store_name>},
    {"mode", {"Mode"}, {}, name_of<&Limit::mode>, nullptr, mode_cell},
    {"window", {}, {}, name_of<&Limit::kind>},
    {"enforced", {}, {}, enforced<100>},
    {{}, {}, "enforced_ratio", enforced<1>},
    {"rates", {"Rate"}, {}, nullptr, write_rates, rates_cell},
    {{}, {"Enforced"}, {}, nullptr, nullptr, enforced_cell},
    {"decisions.passed", {"Passed", true}, "decisions_total", count<Decided::passed>},
    {"decisions.rejected", {"Rejected", true}, "decisions_total", count<Decided::rejected>},
    {"decisions.rejected_dry_run",
     {"In a dry run", true},
     "decisions_total",
     count<Decided::rejected_dry_run>},
    {"decisions.error_local", {"Error: by memory", true}, "decisions_total", count<Decided::error_local>},
    {"decisions.error_allowed", {"Error: allowed", true}, "decisions_total", count<Decided::error_allowed>},
    {"decisions.error_denied", {"Error: denied", true}, "decisions_total", count<Decided::error_denied>},
    {"unasked", {"Store not asked", true}, "unasked_decisions_total", count<Decided::unasked>},
    {"charged", {"Charged", true}, "charged_cost_total", count<Decided::cost>},
    {"reserved", {}, "reserved_total", own_count<Reserving::reserved>},
    {"settled", {}, "settled_total", own_count<Reserving::settled>},
    {"delayed", {}, "delayed_total", own_count<Delaying::delayed>},
    {"delayed_seconds", {}, {}, nullptr, write_delayed_seconds},
    {"penalties", {}, "penalties_total", own_count<Penalizing::begun>},
    {"no_key",
     {},
     "no_key_total",
     field<&ToldLimit::tally, &Tally::counters, &Counters<Decided>::own_misses>},
    {{}, {}, "concurrency_limit", most_at_a_time},
    {"running", {}, "concurrency_running", field<&ToldLimit::running>},
    {"slots", {}, "concurrency_slots", field<&ToldLimit::slots>},
};

constexpr Family<ToldLimit> limit_families[] = {
    {"decisions_total", Type::counter,
     "What each limit decided, when it did: a request counts once for each of its limits.", nullptr,
     "outcome"},
    {"unasked_decisions_total", Type::counter, "Decisions for which no store was asked."},
    {"charged_cost_total", Type::counter, "What requests were charged."},
    {"reserved_total", Type::counter,
     "What settled requests had reserved, where the limit charges an estimate before."},
    {"settled_total", Type::counter, "What the same requests were charged in the end."},
    {"delayed_total", Type::counter, "Requests that waited for their turn, where the limit has a delay."},
    {"delayed_seconds_total", Type::counter, "How long they waited, in all.", write_delayed_seconds},
    {"penalties_total", Type::counter, "Penalties that rejections have begun."},
    {"no_key_total", Type::counter, "Requests whose key was empty, so that the limit did not apply."},
    {"enforced_ratio", Type::gauge,
     "The part of the keys for which the limit is enforced by the configuration; 0 is a dry run."},
    {"limit", Type::gauge, "The limit of a period, in seconds, where the configuration says it.",
     write_greatest},
    {"concurrency_limit", Type::gauge,
     "How many requests of a key may run at a time, where the configuration says it."},
    {"concurrency_running", Type::gauge,
     "Requests of all keys that run on this machine and are limited in how many may."},
    {"concurrency_slots", Type::gauge,
     "Slots of all keys that this machine holds in Redis, as counted within a second."},
};

}  // namespace

std::vector<ToldLimit> limits_of(const Configuration& main, OfRates rates) {
    std::vector<ToldLimit> limits;
    limits.reserve(main.tallies->all().size() + 1);
    for (const Tally& tally : main.tallies->all()) {
        limits.push_back(without_rates(main, tally));
    }
    for_each_counted(main, [&](std::size_t i, const Limit& limit) {
        if (limit.burst != 0) {
            limits[i].bursts.insert(limit.burst);
        }
        if (!limit.variable_rate) {
            limits[i].rates.insert(limit.rate);
        } else if (rates == OfRates::also_seen) {
            for (const Rate& rate : main.zone->seen_rates().read(limits[i].tally->digest)) {
                if (rate.limit != 0) {
                    limits[i].rates.insert(rate);
                }
            }
        }
    });
    if (const Tally* others = main.tallies->others()) {
        limits.push_back(without_rates(main, *others));
    }
    return limits;
}

std::unordered_map<std::uint64_t, const Tally*> tallies_by_digest(const Configuration& main) {
    std::unordered_map<std::uint64_t, const Tally*> tallies;
    for (const Tally& tally : main.tallies->all()) {
        tallies.emplace(tally.digest, &tally);
    }
    return tallies;
}

bool is_dry(const Tally& tally) noexcept {
    return tally.limit != nullptr && tally.limit->enforced == Enforced::dry_run;
}

constexpr Sheet<ToldLimit> limit_sheet{limit_columns, limit_families, labels_of};

constexpr Column<ToldLimit> running_list[] = {
    {{}, {"Store"}, {}, field<&ToldLimit::tally, &Tally::store_name>},
    {{}, {"Of each key"}, {}, rates_text},
    {{}, {"Running", true}, {}, field<&ToldLimit::running>},
    {{}, {"Slots held", true}, {}, field<&ToldLimit::slots>},
};
constexpr Columns<ToldLimit> running_columns = running_list;

}  // namespace rate_limit
