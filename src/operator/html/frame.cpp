#include "operator/html/frame.h"

#include <string>

#include "core/text/figure_text.h"
#include "operator/html/style.h"
#include "operator/serving.h"

namespace rate_limit {

void begin_html(HtmlText& html, const Head& head) {
    html.markup("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">");
    html.single("meta", {{"name", "viewport"}, {"content", "width=device-width, initial-scale=1"}});
    html.single("meta", {{"name", "color-scheme"}, {"content", "light dark"}});
    if (head.refreshes) {
        html.single("meta", {{"http-equiv", "refresh"}, {"content", "5"}});
    }
    html.open("title").words(head.title).words(" – rate limits");
    if (head.names_host) {
        html.words(" of ").text(serving().host);
    }
    html.close();
    html.markup("<style>").markup(style_sheet).markup("</style></head>\n<body>\n");
}

void end_html(HtmlText& html) {
    html.markup("</body></html>\n");
}

void begin_part(HtmlText& html, std::string_view id, std::string_view heading) {
    html.markup("\n").open("section", {{"id", id}, {"aria-labelledby", std::string(id) + "-heading"}});
    html.element("h2", heading, {{"id", std::string(id) + "-heading"}});
}

/// The element that scrolls can be reached by the keyboard, and has a name.
void begin_table(HtmlText& html, std::string_view id, std::string_view caption,
                 std::initializer_list<Column> columns) {
    const std::string caption_id = std::string(id) + "-caption";
    html.open("div",
              {{"class", "wide"}, {"role", "region"}, {"tabindex", "0"}, {"aria-labelledby", caption_id}});
    html.open("table", {{"id", id}}).open("caption", {{"id", caption_id}}).words(caption).close();
    html.open("thead").open("tr");
    for (const Column& column : columns) {
        if (column.is_number) {
            html.element("th", column.name, {{"scope", "col"}, {"class", "n"}});
        } else {
            html.element("th", column.name, {{"scope", "col"}});
        }
    }
    html.close().close().open("tbody");
}

void end_table(HtmlText& html) {
    html.close().close().close();
}

void number_cell(HtmlText& html, std::uint64_t number) {
    html.element("td", grouped(number), {{"class", number == 0 ? "n none" : "n"}});
}

void row_header(HtmlText& html, std::string_view text, std::size_t rows) {
    if (rows == 1) {
        html.open("th", {{"scope", "row"}});
    } else {
        html.open("th", {{"scope", "rowgroup"}, {"rowspan", std::to_string(rows)}});
    }
    html.text(text).close();
}

void text_cell(HtmlText& html, std::string_view text) {
    html.open("td").text(text).close();
}

}  // namespace rate_limit
