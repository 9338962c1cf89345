#pragma once

#include <string>
#include <string_view>

namespace rate_limit {

/// What a server said of a command, as a log line may show it: `HMGET: "NOPERM this user has no ..."`.
/// Without the arguments that some servers repeat, and cut before a window's key: a client's is in it.
std::string server_words(std::string_view command, std::string_view error);

}  // namespace rate_limit
