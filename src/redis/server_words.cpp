#include "redis/server_words.h"

#include "core/log_text.h"

namespace rate_limit {
namespace {

constexpr std::size_t max_shown = 200;

/// Behind these words a server repeats what it was sent: `ERR unknown command 'X', with args beginning with:
/// 'KEY'`. Quotes that are left, as in `the 'hmget' command`, name commands and users.
constexpr std::string_view before_arguments[] = {", with args", " args beginning", " with arguments"};

}  // namespace

std::string server_words(std::string_view command, std::string_view error) {
    for (const std::string_view start : before_arguments) {
        error = error.substr(0, error.find(start));
    }
    return std::string(command) + ": \"" + log_text(error, max_shown) + "\"";
}

}  // namespace rate_limit
