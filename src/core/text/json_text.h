#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/limit/window.h"

namespace rate_limit {

/// Writes one JSON value. Between begin and end of an object each value has its name before it. Texts are
/// UTF-8; bytes that are none, and controls, are written as %XX, so that what is shown can be typed again:
/// and so is a percent sign. Functions throw std::bad_alloc.
class JsonText {
public:
    JsonText& begin_object();
    JsonText& end_object();
    JsonText& begin_array();
    JsonText& end_array();

    /// The name of the next value.
    JsonText& name(std::string_view name);

    JsonText& text(std::string_view text);
    /// Words of this program: a percent sign stands for itself.
    JsonText& words(std::string_view words);
    JsonText& number(std::int64_t number);
    JsonText& count(std::uint64_t number);
    /// A finite one, with as many digits as it takes to read the same again.
    JsonText& decimal(double number);
    JsonText& boolean(bool value);
    JsonText& null();

    /// Seconds since the epoch, with milliseconds as decimals.
    JsonText& time(Millis time);

    std::string take() noexcept { return std::move(text_); }

private:
    void begin_value();
    JsonText& add(std::string_view value);
    void append_readable(std::string_view text);
    JsonText& open(char bracket);
    JsonText& close(char bracket);

    std::string text_;
    bool first_ = true;  // the next value is the first of its object or array, or its name has been written
};

}  // namespace rate_limit
