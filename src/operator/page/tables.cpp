#include "operator/page/tables.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/text/figure_text.h"
#include "operator/html/frame.h"
#include "operator/page/forms.h"

namespace rate_limit {

namespace {

// The most rows of each table.
constexpr std::size_t most_limits = 200;
constexpr std::size_t most_keys = 30;
constexpr std::size_t most_overrides = 50;
constexpr std::size_t most_shards = 64;  // of a store
constexpr std::size_t most_nodes = 128;  // of a shard

void write_meter(HtmlText& html, std::string_view id, std::string_view name, const std::string& words,
                 std::uint64_t used, std::uint64_t capacity) {
    const std::string of_all = std::to_string(std::max<std::uint64_t>(capacity, 1));
    html.open("p", {{"class", "meter"}}).open("span", {{"id", id}});
    html.element("b", name).words(" ").words(words).close();
    html.open("meter", {{"min", "0"},
                        {"max", of_all},
                        {"high", std::to_string(std::max<std::uint64_t>(capacity / 5 * 4, 1))},
                        {"optimum", "0"},
                        {"value", std::to_string(std::min(used, capacity))},
                        {"aria-labelledby", id}});
    html.words(share(used, capacity)).close().close();
}

/// Rows end with acts, where there are any.
std::vector<Heading> with_acts(std::vector<Heading> headings, const PageView& view) {
    if (view.may_act) {
        headings.push_back({"Acts"});
    }
    return headings;
}

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
    html.element("td", "none is known yet: no server has told them", {{"colspan", "7"}}).close();
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

void write_requests(HtmlText& html, const AllFigures& found) {
    std::array<std::uint64_t, std::size(endings)> counts{};  // other workers count on meanwhile
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        counts[i] = found.main.tallies->requests().count(endings[i].outcome);
        all += counts[i];
    }
    begin_part(html, "requests", "All requests since counting began");
    html.open("dl", {{"class", "tiles"}});
    for (std::size_t i = 0; i < counts.size(); ++i) {
        html.open("div", {{"class", counts[i] == 0 ? "none" : "some"}});
        html.element("dt", endings[i].words).open("dd").element("b", grouped(counts[i])).words(" ");
        html.element("span", share(counts[i], all)).close().close();
    }
    html.close().close();
}

void add_limits(Pieces<HtmlText>& pieces, const AllFigures& found) {
    pieces.add([](HtmlText& html) {
        begin_part(html, "limits", "Limits");
        begin_table(html, "limits-table", "What each limit decided",
                    headings_of("Limit", limit_sheet.columns));
    });
    const std::size_t rows = std::min(found.limits.size(), most_limits);
    for (std::size_t i = 0; i < rows; ++i) {
        pieces.add([&found, i](HtmlText& html) {
            const ToldLimit& limit = found.limits[i];
            write_row(html, limit.tally->name, limit_sheet.columns, limit, found.now);
        });
    }
    pieces.add([&found, rows](HtmlText& html) {
        end_table(html);
        say_more(html, rows, found.limits.size(), "limit");
        html.close();
    });
}

void write_all_running(HtmlText& html, const AllFigures& found) {
    std::size_t rows = 0;
    for (const ToldLimit& limit : found.limits) {
        if (limit.tally->limit == nullptr || !limit.running || rows == most_limits) {
            continue;
        }
        if (rows++ == 0) {
            begin_part(html, "running", "Running requests");
            begin_table(html, "running-table", "What runs on this machine now, of all keys together",
                        headings_of("Limit", running_columns));
        }
        write_row(html, limit.tally->name, running_columns, limit, found.now);
    }
    if (rows != 0) {
        end_table(html);
        html.close();
    }
}

void write_top(HtmlText& html, const AllFigures& found, const PageView& view) {
    const Top& top = found.top;
    begin_part(html, "top", "Rejected most");
    if (top.keys.empty()) {
        say_nothing(html, "No key has been rejected in the last ten minutes.");
        html.close();
        return;
    }
    const std::string_view without = found.plain ? "" : key_heading;
    begin_table(html, "top-table",
                counted(top.total, "rejection") + " since " + utc(top.since) + ", of which " +
                    grouped(top.others) + " perhaps of other keys",
                with_acts(headings_of("Limit", top_columns, without), view));
    const std::size_t rows = std::min(top.keys.size(), most_keys);
    for (std::size_t i = 0; i < rows; ++i) {
        const Top::Key& key = top.keys[i];
        html.open("tr");
        row_header(html, key.limit->name);
        write_cells(html, top_columns, key, found.now, without);
        if (view.may_act) {
            write_row_acts(html, found.main, view, {key.limit, key.what.id, key.has_key});
        }
        html.close();
    }
    end_table(html);
    say_more(html, rows, top.keys.size(), "key");
    html.close();
}

void write_overrides(HtmlText& html, const AllFigures& found, const PageView& view) {
    begin_part(html, "overrides", "Overrides");
    if (found.overrides.empty()) {
        say_nothing(html, "None: limits are as the configuration has them.");
        html.close();
        return;
    }
    std::vector<Heading> headings = headings_of("Limit", override_subject_columns);
    add_headings(headings, override_columns);
    begin_table(html, "overrides-table", "What operators have changed, until it ends",
                with_acts(std::move(headings), view));
    const std::size_t rows = std::min(found.overrides.size(), most_overrides);
    for (std::size_t i = 0; i < rows; ++i) {
        const ShownOverride& shown = found.overrides[i];
        html.open("tr");
        row_header(html, shown.limit->name);
        write_cells(html, override_subject_columns, shown, found.now);
        write_cells(html, override_columns, shown.what, found.now);
        if (view.may_act) {
            write_row_acts(html, found.main, view,
                           {shown.limit, shown.what.subject.key, false, true,
                            shown.what.scope == OverrideScope::machine});
        }
        html.close();
    }
    end_table(html);
    say_more(html, rows, found.overrides.size(), "override");
    html.close();
}

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

void write_memory(HtmlText& html, const AllFigures& found) {
    const MemoryFigures& memory = found.memory;
    begin_part(html, "memory", "Memory");
    write_meter(html, "meter-windows", "Windows:",
                share(memory.windows.open, memory.window_capacity) +
                    " open: " + grouped(memory.windows.open) + " of " + grouped(memory.window_capacity) +
                    ", and " + grouped(memory.windows.closed) + " that have ended" +
                    (memory.windows.exact ? "" : " (estimated)"),
                memory.windows.open, memory.window_capacity);
    const std::size_t waiting = memory.waiting.open + memory.waiting.closed;
    write_meter(html, "meter-waiting", "What waits:",
                share(waiting, memory.waiting_capacity) + " in use: " + grouped(waiting) + " of " +
                    grouped(memory.waiting_capacity),
                waiting, memory.waiting_capacity);
    begin_table(html, "pressure-table", "For want of room in " + grouped(memory.zone->size()) + " bytes",
                {{"What happened"}, {"How often", true}});
    for (const Column<MemoryFigures>& column : memory_sheet.columns) {
        if (is_shown(column, {})) {
            html.open("tr");
            row_header(html, column.heading.name);
            value_cell(html, column.get(memory), found.now);
            html.close();
        }
    }
    end_table(html);
    html.close();
}

}  // namespace rate_limit
