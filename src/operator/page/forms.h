#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/text/html_text.h"
#include "limiter/configuration.h"
#include "limiter/tallies/tallies.h"
#include "operator/html/frame.h"

namespace rate_limit {

// Forms by which the console's pages post acts. What returns nothing throws std::bad_alloc.

/// The field by which a form names a key: `key`, or `id`; without a value it names none.
struct KeyField {
    std::string_view name;
    std::string value;
};

/// Begins a form that posts to `key`; close() ends it.
void begin_form(HtmlText& html, const PageView& view);

/// `value` is UTF-8.
void write_hidden(HtmlText& html, std::string_view name, std::string_view value);

/// Whether machines share the overrides of this store.
bool shares_overrides(const Configuration& main, std::string_view store) noexcept;

/// The subject of acts to which a row of a table leads.
struct RowSubject {
    const Tally* limit;
    std::uint64_t id = 0;        ///< of the key; 0: the row is of the whole limit
    bool has_key = false;        ///< this machine keeps the text of the key
    bool has_override = false;   ///< the row is an override
    bool is_of_machine = false;  ///< ... of this machine alone
};

/// The last cell of a row: its look-up, and acts on what it shows.
void write_row_acts(HtmlText& html, const Configuration& main, const PageView& view, const RowSubject& of);

}  // namespace rate_limit
