#include "core/overrides/shared_text.h"

#include <algorithm>
#include <array>

#include "core/digits.h"
#include "core/overrides/override_table.h"

namespace rate_limit {

namespace {

constexpr std::string_view head = "overrides 1";
constexpr std::string_view head_of_any = "overrides ";
constexpr std::size_t fields_of_line = 7;
using Fields = std::array<std::string_view, fields_of_line>;

bool is_plain(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-' || c == ':';
}

void append_escaped(std::string& out, std::string_view text) {
    constexpr char hex[] = "0123456789ABCDEF";
    for (const char c : text) {
        if (is_plain(c)) {
            out += c;
            continue;
        }
        const auto byte = static_cast<unsigned char>(c);
        out += '%';
        out += hex[byte >> 4U];
        out += hex[byte & 15U];
    }
}

int digit_of(char c) noexcept {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool read_escaped(std::string_view text, std::string& out) {
    out.clear();
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (is_plain(text[i])) {
            out += text[i];
            continue;
        }
        const int high = i + 2 < text.size() ? digit_of(text[i + 1]) : -1;
        const int low = i + 2 < text.size() ? digit_of(text[i + 2]) : -1;
        if (text[i] != '%' || high < 0 || low < 0) {
            return false;
        }
        out += static_cast<char>(high * 16 + low);
        i += 2;
    }
    return true;
}

/// Takes the next piece of `text`, up to the separator.
std::string_view take(std::string_view& text, char separator) noexcept {
    const std::size_t size = std::min(text.find(separator), text.size());
    const std::string_view piece = text.substr(0, size);
    text.remove_prefix(std::min(size + 1, text.size()));
    return piece;
}

bool read_key(std::string_view text, SharedOverride& what) {
    if (text == "-") {
        return !is_of_key(what.kind);
    }
    what.digested = !text.empty() && text.front() == '#';
    return text.size() > 1 && (what.digested || text.front() == ':') &&
           read_escaped(text.substr(1), what.key) && is_of_key(what.kind);
}

bool read_line(std::string_view line, SharedOverride& what) {
    Fields fields;
    for (std::string_view& field : fields) {
        field = take(line, ' ');
    }
    std::int64_t percent = 0;
    what.kind = override_kind(fields[0]);
    if (!line.empty() || what.kind == OverrideKind::none || !parse_digits(fields[1], percent) ||
        percent > 100 || !parse_digits(fields[2], what.from) || !parse_digits(fields[3], what.until)) {
        return false;
    }
    what.percent = static_cast<std::uint8_t>(percent);
    return read_escaped(fields[4], what.by) && read_escaped(fields[5], what.limit) && !what.limit.empty() &&
           read_key(fields[6], what);
}

}  // namespace

const char* describe(SharedTextError error) noexcept {
    switch (error) {
        case SharedTextError::none:
            return "sound";
        case SharedTextError::too_large:
            return "above 512 KB";
        case SharedTextError::other_version:
            return "of another version of this module";
        default:
            return "not what this module writes";
    }
}

std::string write_shared_text(const std::vector<SharedOverride>& all) {
    std::string text(head);
    text += '\n';
    for (const SharedOverride& what : all) {
        text += to_string(what.kind);
        for (const std::int64_t number : {std::int64_t{what.percent}, what.from, what.until}) {
            text += ' ';
            text += std::to_string(number);
        }
        text += ' ';
        append_escaped(text, what.by);
        text += ' ';
        append_escaped(text, what.limit);
        text += what.key.empty() ? " -" : what.digested ? " #" : " :";
        append_escaped(text, what.key);
        text += '\n';
    }
    return text;
}

SharedTextError read_shared_text(std::string_view text, std::vector<SharedOverride>& all) {
    all.clear();
    if (text.size() > most_shared_text) {
        return SharedTextError::too_large;
    }
    const std::string_view first = take(text, '\n');
    if (first != head) {
        return first.substr(0, head_of_any.size()) == head_of_any ? SharedTextError::other_version
                                                                  : SharedTextError::garbage;
    }
    while (!text.empty()) {
        all.emplace_back();
        if (!read_line(take(text, '\n'), all.back()) || all.size() > OverrideTable::most) {
            all.clear();
            return SharedTextError::garbage;
        }
    }
    return SharedTextError::none;
}

}  // namespace rate_limit
