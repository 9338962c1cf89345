#include "ngx/page/stores_html.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>

#include "core/text/figure_text.h"
#include "ngx/html/frame.h"

namespace rate_limit {

namespace {

/// As many shards of a store, and nodes of a shard, are shown.
constexpr std::size_t most_shards = 64;
constexpr std::size_t most_nodes = 128;

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

void write_nodes(HtmlText& html, const Shards& shards, std::string_view id, Millis now) {
    begin_table(html, id, "Nodes",
                {{"Shard"}, {"Node"}, {"Role"}, {"State"}, {"For"}, {"Commands", true}, {"Errors"}});
    for (const Gathered::OfShard& shard : shards) {
        const std::size_t rows = std::min(shard.nodes.size(), most_nodes);
        if (rows == 0) {
            html.open("tr");
            row_header(html, shard.figures.subject.shard);
            html.element("td", "none is known yet: no request has asked for it", {{"colspan", "6"}}).close();
        }
        for (std::size_t i = 0; i < rows; ++i) {
            html.open("tr");
            if (i == 0) {
                row_header(html, shard.figures.subject.shard, rows);
            }
            write_node(html, shard.nodes[i], now);
            html.close();
        }
    }
    end_table(html);
}

void write_writes(HtmlText& html, const Shards& shards, std::string_view id) {
    begin_table(html, id, "Writes to primaries",
                {{"Shard"}, {"Kind"}, {"Stored", true}, {"Dropped", true}, {"In doubt", true}});
    for (const Gathered::OfShard& shard : shards) {
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
    end_table(html);
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

void write_waits(HtmlText& html, const Shards& shards, std::string_view id) {
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
    for (const Gathered::OfShard& shard : shards) {
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
    end_table(html);
}

void write_store(HtmlText& html, const Shards& shards, std::size_t all, std::size_t number, Millis now) {
    const std::string id = "store-" + std::to_string(number);
    html.open("h3").words("Store ").text(shards.first->figures.subject.store).close();
    if (shards.first->figures.store == nullptr) {
        html.element("p", "All shards together for whose counters the zone has no room.");
    }
    html.open("div", {{"class", "tables"}});
    if (shards.first->figures.store != nullptr) {
        write_nodes(html, shards, id + "-nodes", now);
    }
    write_writes(html, shards, id + "-writes");
    write_waits(html, shards, id + "-waits");
    html.close();
    if (static_cast<std::size_t>(shards.last - shards.first) < all) {
        html.element("p", "These are the first of " + counted(all, "shard") + "; JSON has all.",
                     {{"class", "more"}});
    }
}

}  // namespace

void write_stores(HtmlText& html, const Gathered& found) {
    begin_part(html, "stores", "Stores");
    if (found.shards.empty()) {
        html.element("p", "No limit uses Redis: all count in the memory of this machine.",
                     {{"class", "nothing"}});
    }
    std::size_t number = 0;
    const Gathered::OfShard* const end = found.shards.data() + found.shards.size();
    for (const Gathered::OfShard* first = found.shards.data(); first != end;) {
        const Gathered::OfShard* const last = std::find_if(
            first, end, [first](const auto& shard) { return shard.figures.store != first->figures.store; });
        const auto all = static_cast<std::size_t>(last - first);
        write_store(html, {first, first + std::min(all, most_shards)}, all, ++number, found.now);
        first = last;
    }
    html.close();
}

}  // namespace rate_limit
