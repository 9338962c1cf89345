#include "core/body/string_reader.h"

#include "core/body/plain_end.h"
#include "core/decimal.h"

namespace rate_limit {

namespace {

/// The byte that a letter behind a backslash stands for; 0: none.
char escaped(char letter) noexcept {
    switch (letter) {
        case '"':
        case '\\':
        case '/':
            return letter;
        case 'b':
            return '\b';
        case 'f':
            return '\f';
        case 'n':
            return '\n';
        case 'r':
            return '\r';
        case 't':
            return '\t';
        default:
            return '\0';
    }
}

bool is_first_half(std::uint32_t unit) noexcept {
    return unit >= 0xd800 && unit < 0xdc00;
}

bool is_second_half(std::uint32_t unit) noexcept {
    return unit >= 0xdc00 && unit < 0xe000;
}

constexpr std::uint32_t replacement = 0xfffd;

}  // namespace

const char* StringReader::read(const char* at, const char* end) noexcept {
    while (at != end && !ended() && !bad()) {
        if (state_ == State::plain) {
            at = read_plain(at, end);
        } else if (state_ == State::escape) {
            take_escape(*at++);
        } else {
            take_digit(*at++);
        }
    }
    return at;
}

/// Up to behind the byte that ends a plain part.
const char* StringReader::read_plain(const char* at, const char* end) noexcept {
    const char* const stop = find_plain_end(at, end);
    if (high_ != 0 && stop != at) {
        end_half();
    }
    if (stop == end) {
        kept_.append(at, static_cast<std::size_t>(stop - at));
        return end;
    }
    if (*stop == '"') {
        this->end(at, stop);
    } else {
        kept_.append(at, static_cast<std::size_t>(stop - at));
        state_ = *stop == '\\' ? State::escape : State::bad;
    }
    return stop + 1;
}

/// A string in one piece, without escapes, needs no copy.
void StringReader::end(const char* from, const char* quote) noexcept {
    if (high_ != 0) {
        end_half();
    }
    state_ = State::ended;
    const auto size = static_cast<std::size_t>(quote - from);
    if (kept_.empty() && size <= BodyValue::most) {
        text_ = {from, size};
        return;
    }
    kept_.append(from, size);
    text_ = kept_.text();
}

void StringReader::take_escape(char c) noexcept {
    if (c == 'u') {
        state_ = State::digits;
        digits_ = 0;
        unit_ = 0;
        return;
    }
    const char byte = escaped(c);
    if (byte == '\0') {
        state_ = State::bad;
        return;
    }
    end_half();
    kept_.append(&byte, 1);
    state_ = State::plain;
}

void StringReader::take_digit(char c) noexcept {
    const int value = hex_value(c);
    if (value < 0) {
        state_ = State::bad;
        return;
    }
    unit_ = unit_ << 4U | static_cast<std::uint32_t>(value);
    if (++digits_ == 4) {
        state_ = State::plain;
        take_unit();
    }
}

void StringReader::take_unit() noexcept {
    if (high_ != 0 && is_second_half(unit_)) {
        append(0x10000 + ((high_ - 0xd800) << 10U) + (unit_ - 0xdc00));
        high_ = 0;
        return;
    }
    end_half();
    if (is_first_half(unit_)) {
        high_ = unit_;
    } else {
        append(is_second_half(unit_) ? replacement : unit_);
    }
}

/// The first half of a pair stands alone: another character follows it.
void StringReader::end_half() noexcept {
    if (high_ != 0) {
        high_ = 0;
        append(replacement);
    }
}

void StringReader::append(std::uint32_t character) noexcept {
    const auto last = [character](unsigned shift) noexcept {
        return static_cast<char>(0x80U | (character >> shift & 0x3fU));
    };
    if (character < 0x80) {
        const char text[] = {static_cast<char>(character)};
        kept_.append(text, sizeof text);
    } else if (character < 0x800) {
        const char text[] = {static_cast<char>(0xc0U | character >> 6U), last(0)};
        kept_.append(text, sizeof text);
    } else if (character < 0x10000) {
        const char text[] = {static_cast<char>(0xe0U | character >> 12U), last(6), last(0)};
        kept_.append(text, sizeof text);
    } else {
        const char text[] = {static_cast<char>(0xf0U | character >> 18U), last(12), last(6), last(0)};
        kept_.append(text, sizeof text);
    }
}

}  // namespace rate_limit
