#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "core/text/html_text.h"

namespace rate_limit {

// Parts that all pages of the console have: head, foot, and how their tables look. All throw std::bad_alloc.

struct Head {
    std::string_view title;  ///< the page's first words
    bool refreshes;          ///< every 5 s
    bool names_host = true;  ///< false: not to clients who may not see the console
};

/// Up to and with the begin of the body.
void begin_html(HtmlText& html, const Head& head);
void end_html(HtmlText& html);

/// A part of the page with a heading. `id` is static, and unique in the page. close() ends it.
void begin_part(HtmlText& html, std::string_view id, std::string_view heading);

struct Column {
    std::string_view name;
    bool is_number = false;
};

/// Up to and with the begin of the table's body; a table that is too wide scrolls by itself. `id` is unique
/// in the page.
void begin_table(HtmlText& html, std::string_view id, std::string_view caption,
                 std::initializer_list<Column> columns);
void end_table(HtmlText& html);

void number_cell(HtmlText& html, std::uint64_t number);

/// The header of a row: bytes from anywhere.
void row_header(HtmlText& html, std::string_view text, std::size_t rows = 1);

/// Bytes from anywhere.
void text_cell(HtmlText& html, std::string_view text);

}  // namespace rate_limit
