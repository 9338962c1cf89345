#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rate_limit {

/// Writes metrics in Prometheus's text format, version 0.0.4: family after family, and in each its samples.
/// All names begin with `nginx_rate_limit_`. Functions throw std::bad_alloc.
class MetricsText {
public:
    struct Label {
        std::string_view name;   ///< letters a to z, and _
        std::string_view value;  ///< any UTF-8 text
    };
    using Labels = std::vector<Label>;

    enum class Type : unsigned char { counter, gauge, histogram };

    /// Begins a family: `name` is without the common beginning, `help` one line of plain text.
    void family(std::string_view name, Type type, std::string_view help);

    /// A sample of the last family; `suffix` such as `_bucket` follows its name.
    void sample(const Labels& labels, std::uint64_t value, std::string_view suffix = {});

    /// A sample that is a fraction, written with as many digits as it takes to read the same again.
    void sample(const Labels& labels, double value, std::string_view suffix = {});

    std::string take() noexcept { return std::move(text_); }

private:
    void begin_sample(const Labels& labels, std::string_view suffix);
    void add_value(std::string_view value);

    std::string text_;
    std::string family_;
};

}  // namespace rate_limit
