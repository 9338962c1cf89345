#include "core/body/document_reader.h"

namespace rate_limit {

namespace {

bool is_space(char c) noexcept {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

}  // namespace

void DocumentReader::read(std::string_view piece) noexcept {
    const char* at = piece.data();
    const char* const end = at + piece.size();
    while (at != end) {
        switch (state_) {
            case State::name_text:
            case State::value_text:
                at = read_string(at, end);
                break;
            case State::number:
                at = read_number(at, end);
                break;
            case State::word:
                at = read_word(at, end);
                break;
            case State::nothing:
                return;
            default:
                if (!is_space(*at)) {
                    take(*at);
                }
                ++at;
        }
    }
}

/// A byte that is no white space, between strings, numbers and words.
void DocumentReader::take(char c) noexcept {
    switch (state_) {
        case State::first_element:
            if (c == ']') {
                close(false);
                return;
            }
            [[fallthrough]];
        case State::value:
            take_value(c);
            return;
        case State::first_name:
            if (c == '}') {
                close(true);
                return;
            }
            [[fallthrough]];
        case State::name:
            state_ = c == '"' ? State::name_text : State::nothing;
            string_.begin(position_.leads_on());
            return;
        case State::colon:
            state_ = c == ':' ? State::value : State::nothing;
            return;
        case State::comma:
            take_comma(c);
            return;
        default:
            state_ = State::nothing;
    }
}

void DocumentReader::take_value(char c) noexcept {
    switch (c) {
        case '"':
            state_ = State::value_text;
            string_.begin(position_.ending() != 0);
            return;
        case '{':
        case '[':
            open(c == '{');
            return;
        case 't':
            begin_word("rue");
            return;
        case 'f':
            begin_word("alse");
            return;
        case 'n':
            begin_word("ull");
            return;
        default:
            state_ = number_.begin(c) ? State::number : State::nothing;
            digits_.begin(position_.ending() != 0);
            digits_.append(&c, 1);
    }
}

void DocumentReader::take_comma(char c) noexcept {
    if (c == '}' || c == ']') {
        close(c == '}');
    } else if (c != ',') {
        state_ = State::nothing;
    } else if (position_.in_object()) {
        state_ = State::name;
    } else {
        position_.enter_next();
        state_ = State::value;
    }
}

void DocumentReader::open(bool object) noexcept {
    const bool opened = position_.open(object);
    state_ = !opened ? State::nothing : object ? State::first_name : State::first_element;
}

void DocumentReader::close(bool object) noexcept {
    if (position_.in_object() != object) {
        state_ = State::nothing;
        return;
    }
    position_.close();
    end_value();
}

const char* DocumentReader::read_string(const char* at, const char* end) noexcept {
    at = string_.read(at, end);
    if (string_.bad()) {
        state_ = State::nothing;
    } else if (string_.ended()) {
        take_string();
    }
    return at;
}

void DocumentReader::take_string() noexcept {
    if (state_ == State::name_text) {
        position_.enter(string_.kept() ? string_.text() : std::string_view());
        state_ = State::colon;
        return;
    }
    if (string_.kept()) {
        fields_.put(position_.ending(), string_.text(), values_);
    }
    end_value();
}

/// The byte behind the number is left for the next state.
const char* DocumentReader::read_number(const char* at, const char* end) noexcept {
    const char* const from = at;
    while (at != end && number_.take(*at)) {
        ++at;
    }
    digits_.append(from, static_cast<std::size_t>(at - from));
    if (at == end) {
        return at;
    }
    if (!number_.whole()) {
        state_ = State::nothing;
        return at;
    }
    if (digits_.wanted()) {
        fields_.put(position_.ending(), digits_.text(), values_);
    }
    end_value();
    return at;
}

void DocumentReader::begin_word(std::string_view rest) noexcept {
    state_ = State::word;
    word_ = rest;
}

const char* DocumentReader::read_word(const char* at, const char* end) noexcept {
    for (; at != end && !word_.empty(); ++at, word_.remove_prefix(1)) {
        if (*at != word_.front()) {
            state_ = State::nothing;
            return at;
        }
    }
    if (word_.empty()) {
        end_value();
    }
    return at;
}

}  // namespace rate_limit
