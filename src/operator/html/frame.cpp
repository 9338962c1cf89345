#include "operator/html/frame.h"

#include <algorithm>
#include <string>
#include <variant>

#include "core/text/figure_text.h"
#include "operator/html/style.h"
#include "operator/serving.h"

namespace rate_limit {

namespace {

bool is_plain_in_urls(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == '~';
}

struct Cell {
    HtmlText& html;
    Millis now;

    void operator()(std::monostate /*none*/) const { html.element("td", "–", {{"class", "n none"}}); }
    void operator()(std::string_view text) const { html.open("td").text(text).close(); }
    void operator()(const std::string& words) const { html.element("td", words); }
    void operator()(std::uint64_t count) const { number_cell(html, count); }
    void operator()(std::int64_t number) const {
        number_cell(html, static_cast<std::uint64_t>(std::max<std::int64_t>(0, number)));
    }
    void operator()(bool is) const { html.element("td", is ? "yes" : "no"); }
    void operator()(const Moment& moment) const {
        const std::string text = moment.shown == Moment::Shown::ahead ? "in " + duration(moment.at - now)
                                 : moment.shown == Moment::Shown::ago ? duration(now - moment.at) + " ago"
                                                                      : duration(now - moment.at);
        html.open("td").element("time", text, {{"datetime", iso_time(moment.at)}}).close();
    }
};

}  // namespace

std::optional<PageView> PageView::of(std::string_view location, std::string_view query) {
    if (!query.empty() && query != "refresh=on" && query != "refresh=off") {
        return std::nullopt;
    }
    PageView view;
    view.refreshes = query != "refresh=off";
    view.below = "./";
    constexpr char digits[] = "0123456789ABCDEF";
    for (const char c : location.substr(location.rfind('/') + 1)) {
        if (is_plain_in_urls(c)) {
            view.below += c;
        } else {
            const auto byte = static_cast<unsigned char>(c);
            view.below.append({'%', digits[byte >> 4U], digits[byte & 0xfU]});
        }
    }
    return view;
}

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

void say_nothing(HtmlText& html, std::string_view words) {
    html.element("p", words, {{"class", "nothing"}});
}

void say_more(HtmlText& html, std::size_t shown, std::size_t all, std::string_view noun) {
    if (shown < all) {
        html.element("p", "These are the first of " + counted(all, noun) + "; JSON has all.",
                     {{"class", "more"}});
    }
}

/// The element that scrolls can be reached by the keyboard, and has a name.
void begin_table(HtmlText& html, std::string_view id, std::string_view caption,
                 const std::vector<Heading>& headings) {
    const std::string caption_id = std::string(id) + "-caption";
    html.open("div",
              {{"class", "wide"}, {"role", "region"}, {"tabindex", "0"}, {"aria-labelledby", caption_id}});
    html.open("table", {{"id", id}}).open("caption", {{"id", caption_id}}).words(caption).close();
    html.open("thead").open("tr");
    for (const Heading& heading : headings) {
        if (heading.is_number) {
            html.element("th", heading.name, {{"scope", "col"}, {"class", "n"}});
        } else {
            html.element("th", heading.name, {{"scope", "col"}});
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

void value_cell(HtmlText& html, const Figure& value, Millis now) {
    std::visit(Cell{html, now}, value);
}

}  // namespace rate_limit
