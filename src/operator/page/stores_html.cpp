#include "operator/page/stores_html.h"

#include <algorithm>
#include <string>
#include <vector>

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
    const AllFigures::OfShard* first;
    const AllFigures::OfShard* last;

    const AllFigures::OfShard* begin() const noexcept { return first; }
    const AllFigures::OfShard* end() const noexcept { return last; }
};

void write_no_node(HtmlText& html, std::string_view shard) {
    html.open("tr");
    row_header(html, shard);
    html.element("td", "none is known yet: no request has asked for it", {{"colspan", "6"}}).close();
}

/// From `first` on, of a shard that has so many `rows`.
void write_nodes(HtmlText& html, const AllFigures::OfShard& shard, std::size_t first, std::size_t rows,
                 Millis now) {
    for (std::size_t i = first; i < std::min(rows, first + nodes_at_once); ++i) {
        html.open("tr");
        if (i == 0) {
            row_header(html, shard.subject.shard, rows);
        }
        write_cells(html, node_sheet.columns, shard.nodes[i], now);
        html.close();
    }
}

void write_writes(HtmlText& html, const ShardFigures& shard, Millis now) {
    for (const std::string_view kind : write_kinds) {
        html.open("tr");
        if (kind == write_kinds.front()) {
            row_header(html, shard.subject.shard, write_kinds.size());
        }
        html.element("td", std::string(kind) + "s");
        const std::string within = "writes." + std::string(kind) + ".";
        for (const Column<ShardFigures>& column : shard_sheet.columns) {
            if (column.name.substr(0, within.size()) == within) {
                value_cell(html, column.get(shard), now);
            }
        }
        html.close();
    }
}

/// Adds a table, to which add(shard) adds the pieces that have its rows.
template <typename Add>
void add_table(Pieces<HtmlText>& pieces, const Shards& shards, const std::string& id,
               std::string_view caption, const std::vector<Heading>& headings, Add add) {
    pieces.add([=](HtmlText& html) { begin_table(html, id, caption, headings); });
    for (const AllFigures::OfShard& shard : shards) {
        add(shard);
    }
    pieces.add(end_table);
}

void begin_store(HtmlText& html, const ShardFigures& first) {
    html.open("h3").words("Store ").text(first.subject.store).close();
    if (first.store == nullptr) {
        html.element("p", "All shards together for whose counters the zone has no room.");
    }
    html.open("div", {{"class", "tables"}});
}

/// A piece has a few nodes of a shard.
void add_nodes(Pieces<HtmlText>& pieces, const AllFigures::OfShard& shard, Millis now) {
    const std::size_t rows = std::min(shard.nodes.size(), most_nodes);
    if (rows == 0) {
        pieces.add([&shard](HtmlText& html) { write_no_node(html, shard.subject.shard); });
    }
    for (std::size_t first = 0; first < rows; first += nodes_at_once) {
        pieces.add(
            [&shard, first, rows, now](HtmlText& html) { write_nodes(html, shard, first, rows, now); });
    }
}

void add_store(Pieces<HtmlText>& pieces, const Shards& shards, std::size_t all, std::size_t number,
               Millis now) {
    const std::string id = "store-" + std::to_string(number);
    const ShardFigures& first = *shards.first;
    pieces.add([&first](HtmlText& html) { begin_store(html, first); });
    if (first.store != nullptr) {
        add_table(pieces, shards, id + "-nodes", "Nodes", headings_of("Shard", node_sheet.columns),
                  [&](const AllFigures::OfShard& shard) { add_nodes(pieces, shard, now); });
    }
    add_table(
        pieces, shards, id + "-writes", "Writes to primaries",
        {{"Shard"}, {"Kind"}, {"Stored", true}, {"Dropped", true}, {"In doubt", true}, {"Expired", true}},
        [&](const ShardFigures& shard) {
            pieces.add([&shard, now](HtmlText& html) { write_writes(html, shard, now); });
        });
    add_table(pieces, shards, id + "-waits", "What waits, answers, and tokens of leases",
              headings_of("Shard", shard_sheet.columns), [&](const ShardFigures& shard) {
                  pieces.add([&shard, now](HtmlText& html) {
                      write_row(html, shard.subject.shard, shard_sheet.columns, shard, now);
                  });
              });
    pieces.add([all](HtmlText& html) {
        html.close();
        say_more(html, most_shards, all, "shard");
    });
}

}  // namespace

void add_stores(Pieces<HtmlText>& pieces, const AllFigures& found) {
    pieces.add([&found](HtmlText& html) {
        begin_part(html, "stores", "Stores");
        if (found.shards.empty()) {
            say_nothing(html, "No limit uses Redis: all count in the memory of this machine.");
        }
    });
    std::size_t number = 0;
    const AllFigures::OfShard* const end = found.shards.data() + found.shards.size();
    for (const AllFigures::OfShard* first = found.shards.data(); first != end;) {
        const AllFigures::OfShard* const last =
            std::find_if(first, end, [first](const auto& shard) { return shard.store != first->store; });
        const auto all = static_cast<std::size_t>(last - first);
        add_store(pieces, {first, first + std::min(all, most_shards)}, all, ++number, found.now);
        first = last;
    }
    pieces.add([](HtmlText& html) { html.close(); });
}

}  // namespace rate_limit
