#include "redis/server_words.h"

#include "core/text/readable.h"

namespace rate_limit {

namespace {

constexpr std::size_t max_shown = 200;

/// After these words a server repeats the arguments that it was sent: `ERR unknown command 'X', with args
/// beginning with: 'KEY'`. Other quoted words, as in `the 'hmget' command`, name commands and users, and
/// stay.
constexpr std::string_view before_arguments[] = {", with args", " args beginning", " with arguments"};

bool is_word(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/// The beginning of the word that contains a window's Redis key, as window_key.h has it: `NAME/60c:KEY`. npos
/// if there is none.
std::size_t find_window_key(std::string_view text) noexcept {
    for (std::size_t slash = text.find('/'); slash != std::string_view::npos;
         slash = text.find('/', slash + 1)) {
        std::size_t end = slash + 1;
        while (end < text.size() && is_word(text[end])) {
            ++end;
        }
        if (end > slash + 1 && end < text.size() && (text[end] == ':' || text[end] == '#')) {
            const std::size_t before = text.find_last_of(" '\"", slash);
            return before == std::string_view::npos ? 0 : before + 1;
        }
    }
    return std::string_view::npos;
}

}  // namespace

std::string_view info_value(std::string_view info, std::string_view name) noexcept {
    while (!info.empty()) {
        const std::size_t end = info.find('\n');
        std::string_view line = info.substr(0, end);
        info.remove_prefix(end == std::string_view::npos ? info.size() : end + 1);
        if (line.substr(0, name.size()) == name && line.substr(name.size(), 1) == ":") {
            line.remove_prefix(name.size() + 1);
            return line.substr(0, line.find('\r'));
        }
    }
    return {};
}

std::string server_words(std::string_view command, std::string_view error) noexcept {
    for (const std::string_view start : before_arguments) {
        error = error.substr(0, error.find(start));
    }
    error = error.substr(0, find_window_key(error));
    try {
        return std::string(command) + ": \"" + log_text(error, max_shown) + "\"";
    } catch (...) {
        return {};
    }
}

}  // namespace rate_limit
