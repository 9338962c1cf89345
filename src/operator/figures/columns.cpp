#include "operator/figures/columns.h"

#include <algorithm>
#include <utility>

namespace rate_limit {

namespace {

struct InJson {
    JsonText& json;

    void operator()(std::monostate /*none*/) const { json.null(); }
    void operator()(std::string_view text) const { json.text(text); }
    void operator()(const std::string& words) const { json.words(words); }
    void operator()(std::uint64_t count) const { json.count(count); }
    void operator()(std::int64_t number) const { json.number(number); }
    void operator()(bool is) const { json.boolean(is); }
    void operator()(const Moment& moment) const { json.time(moment.at); }
};

std::string_view before_last(std::string_view name) noexcept {
    const std::size_t dot = name.rfind('.');
    return name.substr(0, dot != std::string_view::npos ? dot : 0);
}

std::string_view last_part(std::string_view name) noexcept {
    return name.substr(name.rfind('.') + 1);
}

bool is_within(std::string_view objects, std::string_view outer) noexcept {
    return objects == outer ||
           (objects.substr(0, outer.size()) == outer && objects.substr(outer.size(), 1) == ".");
}

}  // namespace

void Members::begin(std::string_view name) {
    enter(before_last(name));
    json_.name(last_part(name));
}

void Members::enter(std::string_view objects) {
    while (!open_.empty() && !is_within(objects, open_)) {
        json_.end_object();
        open_ = before_last(open_);
    }
    while (open_.size() < objects.size()) {
        open_ = objects.substr(0, objects.find('.', open_.size() + 1));
        json_.name(last_part(open_)).begin_object();
    }
}

void write_value(JsonText& json, const Figure& value) {
    std::visit(InJson{json}, value);
}

void write_sample(MetricsText& text, MetricsText::Labels& labels, std::string_view more,
                  std::string_view name, const Figure& value) {
    std::uint64_t sample = 0;
    if (const auto* count = std::get_if<std::uint64_t>(&value)) {
        sample = *count;
    } else if (const auto* number = std::get_if<std::int64_t>(&value)) {
        sample = static_cast<std::uint64_t>(std::max<std::int64_t>(0, *number));
    } else if (const auto* is = std::get_if<bool>(&value)) {
        sample = *is ? 1 : 0;
    } else {
        return;
    }
    const std::size_t row_labels = labels.size();
    for (; !more.empty(); more = before_last(more), name = before_last(name)) {
        labels.insert(labels.begin() + static_cast<std::ptrdiff_t>(row_labels),
                      {last_part(more), last_part(name)});
    }
    text.sample(labels, sample);
    labels.resize(row_labels);
}

}  // namespace rate_limit
