#include "core/body/form_reader.h"

#include "core/decimal.h"

namespace rate_limit {

void FormReader::read(std::string_view piece) noexcept {
    for (const char c : piece) {
        take(c);
    }
}

/// A byte as it was sent.
void FormReader::take(char c) noexcept {
    if (escaped_ != 0) {
        if (hex_value(c) >= 0) {
            take_escaped(c);
            return;
        }
        give_escape_up();
    }
    if (c == '%') {
        escaped_ = 1;
    } else if (c == '&') {
        end_field();
    } else if (c == '=' && !in_value_) {
        in_value_ = true;
        named_ = fields_.of_length(named_, length_);
        value_.begin(named_ != 0);
    } else {
        take_byte(c == '+' ? ' ' : c);
    }
}

void FormReader::take_escaped(char c) noexcept {
    if (escaped_ == 1) {
        digit_ = c;
        escaped_ = 2;
        return;
    }
    escaped_ = 0;
    take_byte(static_cast<char>(hex_value(digit_) * 16 + hex_value(c)));
}

/// The text that began like an escape is none, and stands for itself.
void FormReader::give_escape_up() noexcept {
    take_byte('%');
    if (escaped_ == 2) {
        take_byte(digit_);
    }
    escaped_ = 0;
}

/// A byte as it was meant, of a name or a value.
void FormReader::take_byte(char c) noexcept {
    if (in_value_) {
        value_.append(&c, 1);
    } else if (named_ != 0) {
        named_ = fields_.with_byte(named_, length_++, c);
    }
}

/// A name without a value has an empty one.
void FormReader::end_field() noexcept {
    if (!in_value_) {
        named_ = fields_.of_length(named_, length_);
        value_.begin(named_ != 0);
    }
    if (value_.wanted()) {
        fields_.put(named_, value_.text(), values_);
    }
    named_ = fields_.all();
    length_ = 0;
    in_value_ = false;
}

}  // namespace rate_limit
