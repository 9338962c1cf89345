#include "operator/page/memory_html.h"

#include <algorithm>
#include <string>

#include "core/text/figure_text.h"
#include "operator/html/frame.h"

namespace rate_limit {

namespace {

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

}  // namespace

void write_memory(HtmlText& html, const Gathered& found) {
    const MemoryFigures& memory = found.memory;
    const PressureGauge& pressure = found.main.tallies->pressure();
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
    begin_table(html, "pressure-table", "For want of room in " + grouped(found.main.zone->size()) + " bytes",
                {{"What happened"}, {"How often", true}});
    struct Row {
        std::string_view name;
        Pressure kind;
    };
    constexpr Row rows[] = {{"forgotten: copies of what Redis has", Pressure::evicted_copy},
                            {"forgotten: windows with tokens", Pressure::evicted_tokens},
                            {"forgotten: open windows of local limits", Pressure::evicted_local},
                            {"turned away: no room at all", Pressure::full}};
    for (const Row& row : rows) {
        html.open("tr");
        row_header(html, row.name);
        number_cell(html, pressure.count(row.kind));
        html.close();
    }
    end_table(html);
    html.close();
}

}  // namespace rate_limit
