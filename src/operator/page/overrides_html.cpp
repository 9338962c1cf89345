#include "operator/page/overrides_html.h"

#include <algorithm>
#include <string>

#include "core/text/figure_text.h"
#include "operator/figures/id_text.h"
#include "operator/html/frame.h"

namespace rate_limit {

namespace {

/// The most rows of the table.
constexpr std::size_t most_overrides = 50;

void write_subject(HtmlText& html, const Override& what, bool plain) {
    html.open("td");
    if (what.subject.key == 0) {
        html.words("all");
    } else if (plain && !what.text.empty() && !what.cut) {
        html.open("code").text(what.text).close();
    } else {
        html.words("id ").element("code", IdText(what.subject.key).view());
    }
    html.close();
}

void write_override(HtmlText& html, const ShownOverride& shown, bool plain, Millis now) {
    const Override& what = shown.what;
    html.open("tr");
    row_header(html, shown.limit->name);
    text_cell(html, shown.limit->store_name);
    write_subject(html, what, plain);
    html.element("td", std::string(to_string(what.kind))
                           .append(what.kind == OverrideKind::enforce
                                       ? " for " + std::to_string(what.percent) + "% of the keys"
                                       : ""));
    html.open("td").element("time", duration(now - what.from) + " ago", {{"datetime", iso_time(what.from)}});
    html.close();
    html.open("td").element("time", "in " + duration(what.until - now), {{"datetime", iso_time(what.until)}});
    html.close();
    text_cell(html, what.by);
    html.close();
}

}  // namespace

void write_overrides(HtmlText& html, const Gathered& found, const OperatorRights& rights) {
    begin_part(html, "overrides", "Overrides");
    if (found.overrides.empty()) {
        html.element("p", "None: limits are as the configuration has them.", {{"class", "nothing"}}).close();
        return;
    }
    begin_table(html, "overrides-table", "What operators have changed, until it ends",
                {{"Limit"}, {"Store"}, {"Keys"}, {"Kind"}, {"Since"}, {"Ends"}, {"By"}});
    const std::size_t rows = std::min(found.overrides.size(), most_overrides);
    for (std::size_t i = 0; i < rows; ++i) {
        write_override(html, found.overrides[i], rights.plain_keys, found.now);
    }
    end_table(html);
    if (rows < found.overrides.size()) {
        html.element(
            "p", "These are the first of " + counted(found.overrides.size(), "override") + "; JSON has all.",
            {{"class", "more"}});
    }
    html.close();
}

}  // namespace rate_limit
