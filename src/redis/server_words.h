#pragma once

#include <string>
#include <string_view>

namespace rate_limit {

/// A server's error for a command, as a log line may show it: `HMGET: "NOPERM this user has no ..."`. It
/// leaves out the arguments that some servers repeat, and is cut before a window's key, because that contains
/// a client's key.
std::string server_words(std::string_view command, std::string_view error);

}  // namespace rate_limit
