#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/text/html_text.h"
#include "core/text/json_text.h"
#include "core/text/metrics_text.h"
#include "operator/figures/document.h"

namespace rate_limit {

// Figures are told as JSON, as metrics and on the page. What is told of a subject, such as a limit or a node,
// is a list of columns, and each of the three is a walk over them. Functions throw std::bad_alloc.

/// A time, of which the page says how far from now it is.
struct Moment {
    enum class Shown : unsigned char { span, ago, ahead };

    Millis at;
    Shown shown = Shown::ago;
};

/// The value of a column for one row: nothing; bytes from anywhere, which outlive it; words of this program;
/// or what can be counted.
using Figure =
    std::variant<std::monostate, std::string_view, std::string, std::uint64_t, std::int64_t, bool, Moment>;

template <typename Said>
Figure figure_of(const Said& said) {
    return Figure(said);
}
inline Figure figure_of(const std::string& bytes) {
    return std::string_view(bytes);
}
template <typename Said>
Figure figure_of(const std::optional<Said>& said) {
    return said ? figure_of(*said) : Figure();
}

/// A member of the row, or a member of that, and so on.
template <auto first, auto... more, typename Row>
decltype(auto) reach(const Row& row) {
    if constexpr (sizeof...(more) == 0) {
        return std::invoke(first, row);
    } else {
        return reach<more...>(std::invoke(first, row));
    }
}

// Read a row by such a path.
template <auto... path, typename Row>
Figure field(const Row& row) {
    return figure_of(reach<path...>(row));
}
template <Moment::Shown shown, auto... path, typename Row>
Figure moment(const Row& row) {
    return Moment{reach<path...>(row), shown};
}

/// The heading of a column on the page; without a name the column is not there.
struct Heading {
    std::string_view name;
    bool is_number = false;
};

template <typename Row>
struct Column {
    /// The member of JSON: `a.b` is the member `b` of an object `a`, whose columns stand side by side. Empty:
    /// it is in none.
    std::string_view name;
    Heading heading;
    std::string_view family;  ///< of metrics; empty: none has it
    Figure (*get)(const Row& row);

    // Write what is not a Figure. Null: what get() says.
    void (*json)(JsonText& json, const Row& row) = nullptr;
    void (*html)(HtmlText& html, const Row& row) = nullptr;  ///< the cell
};

/// A static array.
template <typename Each>
class List {
public:
    template <std::size_t count>
    constexpr List(const Each (&all)[count]) noexcept : begin_(all), end_(all + count) {}

    constexpr const Each* begin() const noexcept { return begin_; }
    constexpr const Each* end() const noexcept { return end_; }

private:
    const Each* begin_;
    const Each* end_;
};

template <typename Row>
using Columns = List<Column<Row>>;

/// A family of metrics.
template <typename Row>
struct Family {
    std::string_view name;
    MetricsText::Type type;
    std::string_view help;

    /// Writes the samples of a row. Null: the columns of the family say them.
    void (*write)(MetricsText& text, const Row& row) = nullptr;

    /// Names of labels that follow those of the row, with a dot between them: the last parts of the column's
    /// name are their values.
    std::string_view labels = {};
};

/// All that is told of a subject.
template <typename Row>
struct Sheet {
    Columns<Row> columns;
    List<Family<Row>> families;
    MetricsText::Labels (*labels)(const Row& row);
};

/// Writes members of one object of JSON, by names as columns have them.
class Members {
public:
    explicit Members(JsonText& json) noexcept : json_(json) {}

    /// Ends and begins objects, so that the value of that name can be written next.
    void begin(std::string_view name);

    /// Ends what has begun, but for the object itself.
    void end() { enter({}); }

private:
    void enter(std::string_view objects);

    JsonText& json_;
    std::string_view open_;  // the names of the objects that are open, of each within the one before
};

void write_value(JsonText& json, const Figure& value);

template <typename Row>
void write_members(JsonText& json, const Columns<Row>& columns, const Row& row) {
    Members members(json);
    for (const Column<Row>& column : columns) {
        if (column.name.empty()) {
            continue;
        }
        members.begin(column.name);
        if (column.json != nullptr) {
            column.json(json, row);
        } else {
            write_value(json, column.get(row));
        }
    }
    members.end();
}

/// Writes a sample of the column `name`, if there is a value that can be counted: none is less than 0.
/// `labels` are those of the row, before and after, `more` the names of those that follow.
void write_sample(MetricsText& text, MetricsText::Labels& labels, std::string_view more,
                  std::string_view name, const Figure& value);

template <typename Row>
void write_samples(MetricsText& text, const Sheet<Row>& sheet, const Family<Row>& family, const Row& row) {
    if (family.write != nullptr) {
        family.write(text, row);
        return;
    }
    MetricsText::Labels labels = sheet.labels(row);
    for (const Column<Row>& column : sheet.columns) {
        if (column.family == family.name) {
            write_sample(text, labels, family.labels, column.name, column.get(row));
        }
    }
}

/// Adds the families of a sheet, which outlives the pieces: one for each row of each family.
template <typename Row, typename Each>
void add_families(Pieces<MetricsText>& pieces, const Sheet<Row>& sheet, const std::vector<Each>& rows) {
    for (const Family<Row>& family : sheet.families) {
        pieces.add([&family](MetricsText& text) { text.family(family.name, family.type, family.help); });
        pieces.add_each(rows, [&sheet, &family](MetricsText& text, const Row& row) {
            write_samples(text, sheet, family, row);
        });
    }
}

}  // namespace rate_limit
