#include "core/text/form.h"

#include <algorithm>

#include "core/decimal.h"

namespace rate_limit {

namespace {

/// The byte of the two hex digits that follow the percent sign at `at`; -1: there are none.
int byte_at(std::string_view text, std::size_t at) noexcept {
    if (text.size() - at < 3) {
        return -1;
    }
    const int high = hex_value(text[at + 1]);
    const int low = hex_value(text[at + 2]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

/// False where a percent sign has no digits.
bool decode(std::string_view text, std::string& to) {
    to.reserve(text.size());
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] == '%') {
            const int byte = byte_at(text, at);
            if (byte < 0) {
                return false;
            }
            to += static_cast<char>(byte);
            at += 2;
        } else {
            to += text[at] == '+' ? ' ' : text[at];
        }
    }
    return true;
}

}  // namespace

Form::Error Form::parse(std::string_view body) {
    fields_.clear();
    Error error = Error::none;
    while (!body.empty() && error == Error::none) {
        const std::size_t end = std::min(body.find('&'), body.size());
        error = add(body.substr(0, end));
        body.remove_prefix(std::min(end + 1, body.size()));
    }
    if (error != Error::none) {
        fields_.clear();
    }
    return error;
}

Form::Error Form::add(std::string_view field) {
    if (field.empty()) {
        return Error::none;
    }
    if (fields_.size() == most_fields) {
        return Error::many;
    }
    const std::size_t equals = std::min(field.find('='), field.size());
    std::pair<std::string, std::string> decoded;
    if (!decode(field.substr(0, equals), decoded.first) ||
        !decode(field.substr(std::min(equals + 1, field.size())), decoded.second)) {
        return Error::escape;
    }
    if (std::any_of(fields_.begin(), fields_.end(),
                    [&](const auto& other) { return other.first == decoded.first; })) {
        return Error::twice;
    }
    fields_.push_back(std::move(decoded));
    return Error::none;
}

const std::string* Form::find(std::string_view name) const noexcept {
    const auto found = std::find_if(fields_.begin(), fields_.end(),
                                    [name](const auto& field) { return field.first == name; });
    return found != fields_.end() && !found->second.empty() ? &found->second : nullptr;
}

std::string shown_key(std::string_view text) {
    std::string key;
    key.reserve(text.size());
    for (std::size_t at = 0; at < text.size(); ++at) {
        const int byte = text[at] == '%' ? byte_at(text, at) : -1;
        key += byte < 0 ? text[at] : static_cast<char>(byte);
        at += byte < 0 ? 0 : 2;
    }
    return key;
}

}  // namespace rate_limit
