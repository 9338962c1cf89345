#include "operator/page/stores_html.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>

#include "core/text/figure_text.h"
#include "operator/html/frame.h"

namespace rate_limit {

namespace {

/// The most shards of a store, and nodes of a shard, that are shown.
constexpr std::size_t most_shards = 64;
constexpr std::size_t most_nodes = 128;

constexpr std::size_t nodes_at_once = 8;

/// Some shards of one store.
struct Shards {
    const Gathered::OfShard* first;
    const Gathered::OfShard* last;

    const Gathered::OfShard* begin() const noexcept { return first; }
    const Gathered::OfShard* end() const noexcept { return last; }
};

std::string errors_text(const NodeFigures& node) {
    std::string text;
    for_each_node_error([&](NodeError error) {
        const std::uint64_t count = node.count(count_of(error));
        if (count != 0) {
            text.append(text.empty() ? "" : ", ").append(to_string(error)).append(" ").append(grouped(count));
        }
    });
    return text.empty() ? "none" : text;
}

void write_node(HtmlText& html, const NodeFigures& node, Millis now) {
    text_cell(html, node.node.address);
    html.element("td", node.node.primary ? "primary" : "replica");
    html.open("td")
        .element("span", node.node.up ? "up" : "down", {{"class", node.node.up ? "up" : "down"}})
        .close();
    html.open("td").element("time", duration(now - node.node.since),
                            {{"datetime", iso_time(node.node.since)}});
    html.close();
    number_cell(html, node.count(NodeCount::commands));
    const std::string errors = errors_text(node);
    html.element("td", errors, {{"class", errors == "none" ? "none" : "kinds"}});
}

void write_no_node(HtmlText& html, std::string_view shard) {
    html.open("tr");
    row_header(html, shard);
    html.element("td", "none is known yet: no request has asked for it", {{"colspan", "6"}}).close();
}

/// From `first` on, of a shard that has so many `rows`.
void write_nodes(HtmlText& html, const Gathered::OfShard& shard, std::size_t first, std::size_t rows,
                 Millis now) {
    for (std::size_t i = first; i < std::min(rows, first + nodes_at_once); ++i) {
        html.open("tr");
        if (i == 0) {
            row_header(html, shard.figures.subject.shard, rows);
        }
        write_node(html, shard.nodes[i], now);
        html.close();
    }
}

/// A piece has a few nodes of a shard.
void add_nodes(Pieces& pieces, const Shards& shards, const std::string& id, Millis now) {
    pieces.emplace_back([id](HtmlText& html) {
        begin_table(html, id, "Nodes",
                    {{"Shard"}, {"Node"}, {"Role"}, {"State"}, {"For"}, {"Commands", true}, {"Errors"}});
    });
    for (const Gathered::OfShard& shard : shards) {
        const std::size_t rows = std::min(shard.nodes.size(), most_nodes);
        if (rows == 0) {
            pieces.emplace_back(
                [&shard](HtmlText& html) { write_no_node(html, shard.figures.subject.shard); });
        }
        for (std::size_t first = 0; first < rows; first += nodes_at_once) {
            pieces.emplace_back(
                [&shard, first, rows, now](HtmlText& html) { write_nodes(html, shard, first, rows, now); });
        }
    }
    pieces.emplace_back(end_table);
}

void write_writes(HtmlText& html, const Gathered::OfShard& shard) {
    const auto kinds = writes_of(shard.figures);
    for (const WriteFigures& kind : kinds) {
        html.open("tr");
        if (&kind == kinds.begin()) {
            row_header(html, shard.figures.subject.shard, kinds.size());
        }
        html.element("td", std::string(kind.name) + "s");
        for (const CountOf& result : kind.results) {
            number_cell(html, result.count);
        }
        html.close();
    }
}

void add_writes(Pieces& pieces, const Shards& shards, const std::string& id) {
    pieces.emplace_back([id](HtmlText& html) {
        begin_table(html, id, "Writes to primaries",
                    {{"Shard"},
                     {"Kind"},
                     {"Stored", true},
                     {"Dropped", true},
                     {"In doubt", true},
                     {"Expired", true}});
    });
    for (const Gathered::OfShard& shard : shards) {
        pieces.emplace_back([&shard](HtmlText& html) { write_writes(html, shard); });
    }
    pieces.emplace_back(end_table);
}

std::string millis_text(std::uint64_t micros) {
    std::array<char, 32> text{};
    (void)std::snprintf(text.data(), text.size(), "%.3g ms", static_cast<double>(micros) / 1000);
    return text.data();
}

/// Within which bound 99 of 100 requests were answered.
std::string most_wait(const Counters<Wait>& waits, std::uint64_t count) {
    std::uint64_t within = 0;
    for (std::size_t bucket = 0; bucket < wait_bounds.size(); ++bucket) {
        within += waits.own_count(static_cast<Wait>(bucket));
        if (within >= count - count / 100) {
            return "within " + millis_text(wait_bounds[bucket]);
        }
    }
    return "over " + millis_text(wait_bounds.back());
}

void begin_waits(HtmlText& html, std::string_view id) {
    begin_table(html, id, "What waits, answers, and tokens of leases",
                {{"Shard"},
                 {"Windows waiting", true},
                 {"Charges waiting", true},
                 {"Answers waited for", true},
                 {"Mean wait", true},
                 {"99% of them", true},
                 {"Tokens at hand", true},
                 {"Fetched", true},
                 {"Spent", true},
                 {"Returned", true},
                 {"Lost", true}});
}

void write_waits(HtmlText& html, const Gathered::OfShard& shard) {
    const Counters<Wait>& waits = shard.figures.counters.waits;
    std::uint64_t count = 0;
    for (std::size_t bucket = 0; bucket < wait_buckets; ++bucket) {
        count += waits.own_count(static_cast<Wait>(bucket));
    }
    html.open("tr");
    row_header(html, shard.figures.subject.shard);
    number_cell(html, shard.figures.windows);
    number_cell(html, shard.figures.charges);
    number_cell(html, count);
    html.element("td", count == 0 ? "–" : millis_text(waits.own_count(Wait::micros) / count),
                 {{"class", "n"}});
    html.element("td", count == 0 ? "–" : most_wait(waits, count), {{"class", "n"}});
    number_cell(html, static_cast<std::uint64_t>(std::max<std::int64_t>(0, shard.figures.tokens)));
    for (const CountOf& event : token_events(shard.figures)) {
        number_cell(html, event.count);
    }
    html.close();
}

void add_waits(Pieces& pieces, const Shards& shards, const std::string& id) {
    pieces.emplace_back([id](HtmlText& html) { begin_waits(html, id); });
    for (const Gathered::OfShard& shard : shards) {
        pieces.emplace_back([&shard](HtmlText& html) { write_waits(html, shard); });
    }
    pieces.emplace_back(end_table);
}

void begin_store(HtmlText& html, const ShardFigures& first) {
    html.open("h3").words("Store ").text(first.subject.store).close();
    if (first.store == nullptr) {
        html.element("p", "All shards together for whose counters the zone has no room.");
    }
    html.open("div", {{"class", "tables"}});
}

/// Ends a store that has `all` shards.
void end_store(HtmlText& html, std::size_t all) {
    html.close();
    if (all > most_shards) {
        html.element("p", "These are the first of " + counted(all, "shard") + "; JSON has all.",
                     {{"class", "more"}});
    }
}

void add_store(Pieces& pieces, const Shards& shards, std::size_t all, std::size_t number, Millis now) {
    const std::string id = "store-" + std::to_string(number);
    const ShardFigures& first = shards.first->figures;
    pieces.emplace_back([&first](HtmlText& html) { begin_store(html, first); });
    if (first.store != nullptr) {
        add_nodes(pieces, shards, id + "-nodes", now);
    }
    add_writes(pieces, shards, id + "-writes");
    add_waits(pieces, shards, id + "-waits");
    pieces.emplace_back([all](HtmlText& html) { end_store(html, all); });
}

void begin_stores(HtmlText& html) {
    begin_part(html, "stores", "Stores");
}

}  // namespace

void add_stores(Pieces& pieces, const Gathered& found) {
    pieces.emplace_back(begin_stores);
    if (found.shards.empty()) {
        pieces.emplace_back([](HtmlText& html) {
            html.element("p", "No limit uses Redis: all count in the memory of this machine.",
                         {{"class", "nothing"}});
        });
    }
    std::size_t number = 0;
    const Gathered::OfShard* const end = found.shards.data() + found.shards.size();
    for (const Gathered::OfShard* first = found.shards.data(); first != end;) {
        const Gathered::OfShard* const last = std::find_if(
            first, end, [first](const auto& shard) { return shard.figures.store != first->figures.store; });
        const auto all = static_cast<std::size_t>(last - first);
        add_store(pieces, {first, first + std::min(all, most_shards)}, all, ++number, found.now);
        first = last;
    }
    pieces.emplace_back([](HtmlText& html) { html.close(); });
}

}  // namespace rate_limit
