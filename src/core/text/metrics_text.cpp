#include "core/text/metrics_text.h"

#include <array>
#include <charconv>

namespace rate_limit {
namespace {

constexpr std::string_view beginning = "nginx_rate_limit_";

std::string_view to_string(MetricsText::Type type) noexcept {
    switch (type) {
        case MetricsText::Type::counter:
            return "counter";
        case MetricsText::Type::gauge:
            return "gauge";
        case MetricsText::Type::histogram:
            break;
    }
    return "histogram";
}

void append_escaped(std::string& text, std::string_view value) {
    for (const char c : value) {
        if (c == '\n') {
            text += "\\n";
            continue;
        }
        if (c == '"' || c == '\\') {
            text += '\\';
        }
        text += c;
    }
}

}  // namespace

void MetricsText::family(std::string_view name, Type type, std::string_view help) {
    family_.assign(beginning).append(name);
    text_.append("# HELP ").append(family_).append(" ").append(help).append("\n");
    text_.append("# TYPE ").append(family_).append(" ").append(to_string(type)).append("\n");
}

void MetricsText::begin_sample(const Labels& labels, std::string_view suffix) {
    text_.append(family_).append(suffix);
    const char* separator = "{";
    for (const Label& label : labels) {
        text_.append(separator).append(label.name).append("=\"");
        append_escaped(text_, label.value);
        text_ += '"';
        separator = ",";
    }
    text_ += labels.empty() ? " " : "} ";
}

void MetricsText::add_value(std::string_view value) {
    text_.append(value).append("\n");
}

void MetricsText::sample(const Labels& labels, std::uint64_t value, std::string_view suffix) {
    begin_sample(labels, suffix);
    add_value(std::to_string(value));
}

void MetricsText::sample(const Labels& labels, double value, std::string_view suffix) {
    begin_sample(labels, suffix);
    std::array<char, 32> digits{};
    const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
    add_value({digits.data(), static_cast<std::size_t>(end - digits.data())});
}

}  // namespace rate_limit
