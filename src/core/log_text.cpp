#include "core/log_text.h"

namespace rate_limit {

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
