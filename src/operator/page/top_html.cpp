#include "operator/page/top_html.h"

#include <algorithm>
#include <string>

#include "core/text/figure_text.h"
#include "operator/figures/id_text.h"
#include "operator/figures/top.h"
#include "operator/html/frame.h"

namespace rate_limit {

namespace {

/// The most rows of the table.
constexpr std::size_t most_keys = 30;

void write_key(HtmlText& html, const Top::Key& key, bool plain, Millis now) {
    html.open("tr");
    row_header(html, key.limit->name);
    text_cell(html, key.limit->store_name);
    html.open("td").element("code", IdText(key.what.id).view()).close();
    if (plain) {
        html.open("td", {{"class", "key"}});
        if (key.what.key.empty()) {
            html.words("–");
        } else {
            html.open("code").text(key.what.key).close().words(key.what.cut ? " … (cut)" : "");
        }
        html.close();
    }
    number_cell(html, key.what.rejected);
    number_cell(html, key.what.over);
    number_cell(html, key.what.dry_run);
    html.open("td").element("time", duration(now - key.what.last) + " ago",
                            {{"datetime", iso_time(key.what.last)}});
    html.close().close();
}

}  // namespace

void write_top(HtmlText& html, const Gathered& found, const OperatorRights& rights) {
    const Top top = top_of(found.main);
    begin_part(html, "top", "Rejected most");
    if (top.keys.empty()) {
        html.element("p", "No key has been rejected in the last ten minutes.", {{"class", "nothing"}})
            .close();
        return;
    }
    const std::string caption = counted(top.total, "rejection") + " since " + utc(top.since) + ", of which " +
                                grouped(top.others) + " perhaps of other keys";
    if (rights.plain_keys) {
        begin_table(html, "top-table", caption,
                    {{"Limit"},
                     {"Store"},
                     {"Id"},
                     {"Key"},
                     {"Rejected", true},
                     {"At most too many", true},
                     {"In a dry run", true},
                     {"Last"}});
    } else {
        begin_table(html, "top-table", caption,
                    {{"Limit"},
                     {"Store"},
                     {"Id"},
                     {"Rejected", true},
                     {"At most too many", true},
                     {"In a dry run", true},
                     {"Last"}});
    }
    const std::size_t rows = std::min(top.keys.size(), most_keys);
    for (std::size_t i = 0; i < rows; ++i) {
        write_key(html, top.keys[i], rights.plain_keys, found.now);
    }
    end_table(html);
    if (rows < top.keys.size()) {
        html.element("p", "These are the first of " + counted(top.keys.size(), "key") + "; JSON has all.",
                     {{"class", "more"}});
    }
    html.close();
}

}  // namespace rate_limit
