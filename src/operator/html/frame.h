#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/limit/window.h"
#include "core/text/html_text.h"
#include "operator/figures/columns.h"

namespace rate_limit {

/// How the page was asked for.
struct PageView {
    bool refreshes = true;    ///< by itself
    bool shows_keys = false;  ///< keys=plain
    bool may_act = false;     ///< rows have forms that act on what they show
    std::string below;        ///< the start of links to the console's other pages, escaped for URLs

    /// The link to the page itself.
    const std::string& page() const noexcept { return below; }

    /// The view that a request for the console asks for; `location` is the prefix of its location. Empty: the
    /// page takes no such query. Throws std::bad_alloc.
    static std::optional<PageView> of(std::string_view location, std::string_view query);
};

// Parts that all pages of the console have: head, foot, and how their tables look. All throw std::bad_alloc.

struct Head {
    std::string_view title;  ///< the page's first words
    bool refreshes;          ///< every 5 s
    bool names_host = true;  ///< false: not to clients who may not see the console
};

/// Up to and with the begin of the body.
void begin_html(HtmlText& html, const Head& head);
void end_html(HtmlText& html);

/// The value of Content-Security-Policy for pages: no scripts, this style alone, and nothing from elsewhere.
/// Valid while the process lives. Throws std::bad_alloc.
std::string_view content_security_policy();

/// A part of the page with a heading. `id` is static, and unique in the page. close() ends it.
void begin_part(HtmlText& html, std::string_view id, std::string_view heading);

/// Says that there is nothing to show, in words that tell why.
void say_nothing(HtmlText& html, std::string_view words);

/// Says that only `shown` of `all` are shown, if that is so. `noun` is one of them.
void say_more(HtmlText& html, std::size_t shown, std::size_t all, std::string_view noun);

/// Up to and with the begin of the table's body; a table that is too wide scrolls by itself. `id` is unique
/// in the page.
void begin_table(HtmlText& html, std::string_view id, std::string_view caption,
                 const std::vector<Heading>& headings);
void end_table(HtmlText& html);

/// The header of a row: bytes from anywhere.
void row_header(HtmlText& html, std::string_view text, std::size_t rows = 1);

void value_cell(HtmlText& html, const Figure& value, Millis now);

/// Whether a table has the column, where the one with the heading `without` is left out.
template <typename Row>
bool is_shown(const Column<Row>& column, std::string_view without) noexcept {
    return !column.heading.name.empty() && column.heading.name != without;
}

/// Adds the headings of the columns that have one.
template <typename Row>
void add_headings(std::vector<Heading>& headings, const Columns<Row>& columns,
                  std::string_view without = {}) {
    for (const Column<Row>& column : columns) {
        if (is_shown(column, without)) {
            headings.push_back(column.heading);
        }
    }
}

/// The headings of a table whose first column is that of the rows' headers.
template <typename Row>
std::vector<Heading> headings_of(std::string_view first, const Columns<Row>& columns,
                                 std::string_view without = {}) {
    std::vector<Heading> headings{{first}};
    add_headings(headings, columns, without);
    return headings;
}

/// Writes the cells below these headings.
template <typename Row>
void write_cells(HtmlText& html, const Columns<Row>& columns, const Row& row, Millis now,
                 std::string_view without = {}) {
    for (const Column<Row>& column : columns) {
        if (!is_shown(column, without)) {
            continue;
        }
        if (column.html != nullptr) {
            column.html(html, row);
        } else {
            value_cell(html, column.get(row), now);
        }
    }
}

/// Writes a row with its header, which is bytes from anywhere.
template <typename Row>
void write_row(HtmlText& html, std::string_view header, const Columns<Row>& columns, const Row& row,
               Millis now, std::string_view without = {}) {
    html.open("tr");
    row_header(html, header);
    write_cells(html, columns, row, now, without);
    html.close();
}

}  // namespace rate_limit
