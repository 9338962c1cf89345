#include "core/text/readable.h"

#include <cstddef>
#include <cstdint>

namespace rate_limit {

namespace {

constexpr std::uint32_t none = ~std::uint32_t{0};

/// How many bytes a character takes that begins like this; 0: none does.
std::size_t length_of(unsigned char first) noexcept {
    return first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
}

/// The character of these bytes, or none: too long a form of another one, half of a pair, or above the last.
std::uint32_t decode_character(std::string_view bytes) noexcept {
    constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const std::size_t length = bytes.size();
    std::uint32_t character = static_cast<unsigned char>(bytes.front());
    if (length > 1) {
        character &= 0x7fU >> length;
        for (const char c : bytes.substr(1)) {
            const auto byte = static_cast<unsigned char>(c);
            if ((byte & 0xc0U) != 0x80) {
                return none;
            }
            character = character << 6U | (byte & 0x3fU);
        }
    }
    const bool surrogate = character >= 0xd800 && character <= 0xdfff;
    return character < least[length] || surrogate || character > 0x10ffff ? none : character;
}

/// Controls, of both kinds, and what turns lines and directions.
bool is_hidden(std::uint32_t character) noexcept {
    return character < 0x20 || (character >= 0x7f && character < 0xa0) || character == 0x2028 ||
           character == 0x2029 || (character >= 0x202a && character <= 0x202e) ||
           (character >= 0x2066 && character <= 0x2069);
}

void append_percent(std::string& text, std::string_view bytes) {
    constexpr char digits[] = "0123456789ABCDEF";
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        text += '%';
        text += digits[byte >> 4U];
        text += digits[byte & 0xfU];
    }
}

}  // namespace

std::string readable(std::string_view text) {
    std::string read;
    read.reserve(text.size());
    while (!text.empty()) {
        const std::size_t length = length_of(static_cast<unsigned char>(text.front()));
        const bool whole = length != 0 && length <= text.size();
        const std::uint32_t character = whole ? decode_character(text.substr(0, length)) : none;
        const std::string_view bytes = text.substr(0, character != none ? length : 1);
        if (character == none || character == '%' || is_hidden(character)) {
            append_percent(read, bytes);
        } else {
            read.append(bytes);
        }
        text.remove_prefix(bytes.size());
    }
    return read;
}

std::string log_text(std::string_view text, std::size_t most) {
    constexpr char digits[] = "0123456789abcdef";
    std::string shown;
    for (const char c : text.substr(0, most)) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= ' ' && byte < 0x7f && c != '"' && c != '\\') {
            shown += c;
        } else {
            shown += "\\x";
            shown += digits[byte >> 4];
            shown += digits[byte & 15];
        }
    }
    if (text.size() > most) {
        shown += "...";
    }
    return shown;
}

}  // namespace rate_limit
