#include "operator/figures/stores.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

#include "core/text/figure_text.h"
#include "limiter/charges/backlog.h"
#include "limiter/store/region_watch.h"
#include "limiter/wire/health/board_entry.h"
#include "limiter/zone.h"
#include "operator/serving.h"

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

std::uint64_t all_waits(const ShardFigures& shard) noexcept {
    return for_each_bucket(shard.counters.waits, [](std::size_t, std::uint64_t) {});
}

void write_waits(JsonText& json, const ShardFigures& shard) {
    const Counters<Wait>& waits = shard.counters.waits;
    json.begin_object().name("buckets").begin_array();
    const std::uint64_t count = for_each_bucket(waits, [&](std::size_t bound, std::uint64_t until) {
        json.begin_object().name("le").decimal(seconds(wait_bounds[bound]));
        json.name("count").count(until).end_object();
    });
    json.end_array();
    json.name("sum").decimal(seconds(waits.own_count(Wait::micros)));
    json.name("count").count(count).end_object();
}

MetricsText::Labels labels_of(const ShardFigures& shard) {
    return {{"store", shard.subject.store}, {"shard", shard.subject.shard}};
}

void write_waits(MetricsText& text, const ShardFigures& shard) {
    const Counters<Wait>& waits = shard.counters.waits;
    const double sum = seconds(waits.own_count(Wait::micros));
    const MetricsText::Labels labels = labels_of(shard);
    const auto write_bucket = [&](std::string_view bound, std::uint64_t until) {
        MetricsText::Labels of_bucket = labels;
        of_bucket.push_back({"le", bound});
        text.sample(of_bucket, until, "_bucket");
    };
    const std::uint64_t count = for_each_bucket(
        waits, [&](std::size_t bound, std::uint64_t until) { write_bucket(bounds[bound], until); });
    write_bucket("+Inf", count);
    text.sample(labels, sum, "_sum");
    text.sample(labels, count, "_count");
}

std::string millis_text(std::uint64_t micros) {
    std::array<char, 32> text{};
    (void)std::snprintf(text.data(), text.size(), "%.3g ms", static_cast<double>(micros) / 1000);
    return text.data();
}

void mean_cell(HtmlText& html, const ShardFigures& shard) {
    const std::uint64_t count = all_waits(shard);
    html.element("td", count == 0 ? "–" : millis_text(shard.counters.waits.own_count(Wait::micros) / count),
                 {{"class", "n"}});
}

/// Within which bound 99 of 100 requests were answered.
void most_cell(HtmlText& html, const ShardFigures& shard) {
    const std::uint64_t all = all_waits(shard);
    std::size_t within = wait_bounds.size();
    for_each_bucket(shard.counters.waits, [&](std::size_t bound, std::uint64_t until) {
        within = until >= all - all / 100 ? std::min(within, bound) : within;
    });
    const std::string text = within < wait_bounds.size() ? "within " + millis_text(wait_bounds[within])
                                                         : "over " + millis_text(wait_bounds.back());
    html.element("td", all == 0 ? "–" : text, {{"class", "n"}});
}

template <Write what>
Figure written(const ShardFigures& shard) {
    return shard.counters.writes.own_count(what);
}

template <Loss what>
Figure lost(const ShardFigures& shard) {
    return shard.losses.own_count(what);
}

/// Reservations are neither dropped nor do they expire.
Figure never(const ShardFigures& /*shard*/) {
    return std::uint64_t{0};
}

template <TokenEvent what>
Figure tokens(const ShardFigures& shard) {
    return shard.counters.tokens.own_count(what);
}

/// How often what was last read of it counted instead of an answer; nothing for a region here.
std::optional<std::uint64_t> times_remembered(const ShardFigures& shard) {
    if (shard.store == nullptr || shard.store->home == nullptr) {
        return std::nullopt;
    }
    return Counters<RegionCount>(shard.store->zone->counters(), shard.subject)
        .own_count(RegionCount::remembered);
}

Figure remembered(const ShardFigures& shard) {
    const auto times = times_remembered(shard);
    return times ? Figure(*times) : Figure();
}

void write_remembered(MetricsText& text, const ShardFigures& shard) {
    if (const auto times = times_remembered(shard)) {
        text.sample({{"store", shard.store->home->name},
                     {"shard", shard.subject.shard},
                     {"region", shard.store->region}},
                    *times);
    }
}

constexpr Column<ShardFigures> shard_columns[] = {
    {"name", {}, {}, field<&ShardFigures::subject, &Subject::shard>},
    {"waiting.windows", {"Windows waiting", true}, "waiting_windows", field<&ShardFigures::windows>},
    {"waiting.charges", {"Charges waiting", true}, "waiting_charges", field<&ShardFigures::charges>},
    {{}, {"Answers waited for", true}, {}, field<all_waits>},
    {{}, {"Mean wait", true}, {}, nullptr, nullptr, mean_cell},
    {{}, {"99% of them", true}, {}, nullptr, nullptr, most_cell},
    {"writes.charge.stored", {}, "writes_total", written<Write::charges_stored>},
    {"writes.charge.dropped", {}, "writes_total", written<Write::charges_dropped>},
    {"writes.charge.in_doubt", {}, "writes_total", lost<Loss::charges_in_doubt>},
    {"writes.charge.expired", {}, "writes_total", written<Write::charges_expired>},
    {"writes.reservation.stored", {}, "writes_total", written<Write::reservations_stored>},
    {"writes.reservation.dropped", {}, "writes_total", never},
    {"writes.reservation.in_doubt", {}, "writes_total", lost<Loss::reservations_in_doubt>},
    {"writes.reservation.expired", {}, "writes_total", never},
    {"writes.refund.stored", {}, "writes_total", written<Write::refunds_stored>},
    {"writes.refund.dropped", {}, "writes_total", written<Write::refunds_dropped>},
    {"writes.refund.in_doubt", {}, "writes_total", lost<Loss::refunds_in_doubt>},
    {"writes.refund.expired", {}, "writes_total", written<Write::refunds_expired>},
    {"raised", {"Raised", true}, "raised_total", written<Write::raised>},
    {"remembered", {}, {}, remembered},
    {"leases.tokens", {"Tokens at hand", true}, "lease_tokens_held", field<&ShardFigures::tokens>},
    {"leases.fetched", {"Fetched", true}, "lease_tokens_total", tokens<TokenEvent::fetched>},
    {"leases.spent", {"Spent", true}, "lease_tokens_total", tokens<TokenEvent::spent>},
    {"leases.returned", {"Returned", true}, "lease_tokens_total", tokens<TokenEvent::returned>},
    {"leases.lost", {"Lost", true}, "lease_tokens_total", tokens<TokenEvent::lost>},
    {"wait", {}, {}, nullptr, write_waits},
};

constexpr Family<ShardFigures> shard_families[] = {
    {"store_wait_seconds", Type::histogram, "How long requests waited for an answer of the store.",
     write_waits},
    {"writes_total", Type::counter, "What became of what was written to the primary.", nullptr,
     "kind.result"},
    {"raised_total", Type::counter,
     "Windows that had less than a former primary had confirmed, and were raised to that."},
    {"region_remembered_total", Type::counter,
     "Requests that took what was last read of another region, which did not answer.", write_remembered},
    {"waiting_windows", Type::gauge, "Windows whose charges wait for their primary."},
    {"waiting_charges", Type::gauge,
     "Charges and refunds that wait for their primary, as counted within seconds."},
    {"lease_tokens_held", Type::gauge, "Tokens at hand on this machine, as counted within seconds."},
    {"lease_tokens_total", Type::counter, "What became of tokens that were fetched in advance.", nullptr,
     "event"},
};

/// Workers that the configuration has: what others said before they ended does not count.
std::size_t running_workers() noexcept {
    return static_cast<std::size_t>(std::max<std::int64_t>(serving().workers, 1));
}

NodeFigures figures_of(NodeBoard::Told node, const Subject& shard, Zone& zone) {
    const Counters<NodeCount> counters(zone.counters(), {shard.store, shard.shard, node.address});
    return {std::move(node), shard.store, shard.shard, counters};
}

NodeFigures together(const Subject& subject, Zone& zone) {
    NodeBoard::Told any;
    any.address = any_node;
    return {any, subject.store, subject.shard, {zone.counters(), subject}, false};
}

/// Nobody has said anything of a node that no worker has used yet.
NodeBoard::Told told_of(const ShardFigures& shard, const NodeConf& conf, bool primary) {
    Zone& zone = *shard.store->zone;
    const NodeBoard::Identity identity = node_identity({shard.subject.store, shard.subject.shard, conf.text});
    NodeBoard::Told told;
    if (!zone.nodes().read(zone.nodes().find(identity), identity, running_workers(), now_millis(), told)) {
        told = {};
        told.since = zone.since();
    }
    told.address = conf.text;
    told.primary = primary;
    return told;
}

/// Calls fn(NodeError) for each that is one.
template <typename Fn>
void for_each_node_error(Fn&& fn) {
    for (std::size_t i = 0; i < node_error_count; ++i) {
        if (const auto error = static_cast<NodeError>(i); error != error_of(Fault::none)) {
            fn(error);
        }
    }
}

void write_errors(JsonText& json, const NodeFigures& node) {
    json.begin_object();
    for_each_node_error(
        [&](NodeError error) { json.name(to_string(error)).count(node.count(count_of(error))); });
    json.end_object();
}

MetricsText::Labels labels_of(const NodeFigures& node) {
    return {{"store", node.store}, {"shard", node.shard}, {"node", node.node.address}};
}

void write_errors(MetricsText& text, const NodeFigures& node) {
    for_each_node_error([&](NodeError error) {
        MetricsText::Labels labels = labels_of(node);
        labels.push_back({"kind", to_string(error)});
        text.sample(labels, node.count(count_of(error)));
    });
}

void errors_cell(HtmlText& html, const NodeFigures& node) {
    std::string errors;
    for_each_node_error([&](NodeError error) {
        const std::uint64_t count = node.count(count_of(error));
        if (count != 0) {
            errors.append(errors.empty() ? "" : ", ")
                .append(to_string(error))
                .append(" ")
                .append(grouped(count));
        }
    });
    html.element("td", errors.empty() ? "none" : errors, {{"class", errors.empty() ? "none" : "kinds"}});
}

void state_cell(HtmlText& html, const NodeFigures& node) {
    const std::string_view state = node.node.up ? "up" : "down";
    html.open("td").element("span", state, {{"class", state}}).close();
}

void write_answer_time(JsonText& json, const NodeFigures& node) {
    const std::optional<std::uint64_t>& micros = node.node.answer_time;
    micros ? json.decimal(seconds(*micros)) : json.null();
}

void write_answer_time(MetricsText& text, const NodeFigures& node) {
    if (node.node.answer_time) {
        MetricsText::Labels labels = labels_of(node);
        labels.push_back({"role", node.node.primary ? "primary" : "replica"});
        text.sample(labels, seconds(*node.node.answer_time));
    }
}

void answer_time_cell(HtmlText& html, const NodeFigures& node) {
    const std::optional<std::uint64_t>& micros = node.node.answer_time;
    html.element("td", micros ? millis_text(*micros) : "–", {{"class", "n"}});
}

Figure role(const NodeFigures& node) {
    return std::string_view(node.node.primary ? "primary" : "replica");
}

/// Nodes that are counted together have none.
template <auto what>
Figure of_one(const NodeFigures& node) {
    return node.is_one ? Figure(node.node.*what) : Figure();
}

Figure commands(const NodeFigures& node) {
    return node.count(NodeCount::commands);
}

constexpr Column<NodeFigures> node_columns[] = {
    {"address", {"Node"}, {}, field<&NodeFigures::node, &NodeBoard::Told::address>},
    {"role", {"Role"}, {}, role},
    {{}, {}, "node_role", of_one<&NodeBoard::Told::primary>},
    {"up", {"State"}, "node_up", of_one<&NodeBoard::Told::up>, nullptr, state_cell},
    {"since", {"For"}, {}, moment<Moment::Shown::span, &NodeFigures::node, &NodeBoard::Told::since>},
    {"answer_time", {"Answers in", true}, {}, nullptr, write_answer_time, answer_time_cell},
    {"commands", {"Commands", true}, "node_commands_total", commands},
    {"errors", {"Errors"}, {}, nullptr, write_errors, errors_cell},
};

constexpr Family<NodeFigures> node_families[] = {
    {"node_up", Type::gauge, "0: a worker holds the node for down."},
    {"node_role", Type::gauge, "1: the node is a primary; 0: it is a replica."},
    {"node_answer_seconds", Type::gauge, "How long the node takes to answer, smoothed.", write_answer_time},
    {"node_commands_total", Type::counter, "Commands that requests and charges sent to the node."},
    {"node_errors_total", Type::counter, "What went wrong with a node.", write_errors},
};

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

constexpr Sheet<ShardFigures> shard_sheet{shard_columns, shard_families, labels_of};

std::vector<NodeFigures> nodes_of(const ShardFigures& shard) {
    std::vector<NodeFigures> nodes;
    if (shard.store == nullptr) {
        return nodes;
    }
    Zone& zone = *shard.store->zone;
    const auto add = [&](NodeBoard::Told told) {
        nodes.push_back(figures_of(std::move(told), shard.subject, zone));
    };
    if (shard.shard->discovered()) {
        const auto add_learned = [&](const NodeBoard::Told& told) {
            if (!told.gone) {
                add(told);
            }
        };
        zone.nodes().for_each_of(node_identity({shard.subject.store, shard.subject.shard, {}}),
                                 running_workers(), now_millis(), add_learned);
        std::sort(nodes.begin(), nodes.end(),
                  [](const NodeFigures& a, const NodeFigures& b) { return a.node.address < b.node.address; });
        return nodes;
    }
    if (shard.shard->names_primary()) {
        add(told_of(shard, shard.shard->primary, true));
    }
    for (const NodeConf& replica : shard.shard->replicas) {
        add(told_of(shard, replica, false));
    }
    return nodes;
}

/// A node that other servers name and that has no counters counts as the node `*` of its shard.
void OtherNodes::add(const ShardFigures& shard, const std::vector<NodeFigures>& nodes) {
    if (shard.store != nullptr && shard.shard->discovered()) {
        others_.push_back(together({shard.subject.store, shard.subject.shard, any_node}, *shard.store->zone));
        all_whole_ = all_whole_ && others_.back().counters.is_whole();
        return;
    }
    all_whole_ = all_whole_ && std::all_of(nodes.begin(), nodes.end(),
                                           [](const auto& node) { return node.counters.is_whole(); });
}

std::vector<NodeFigures> OtherNodes::take(Zone& zone) {
    if (!all_whole_) {
        others_.push_back(together(Counters<NodeCount>::others(), zone));
    }
    return std::move(others_);
}

bool NodeFigures::has_failed() const noexcept {
    bool failed = false;
    for_each_node_error([&](NodeError error) { failed = failed || count(count_of(error)) != 0; });
    return failed;
}

constexpr Sheet<NodeFigures> node_sheet{node_columns, node_families, labels_of};

}  // namespace rate_limit
