#pragma once

#include <string>
#include <string_view>

namespace rate_limit {

/// The value of `name` in the text of INFO; empty if it is not there.
std::string_view info_value(std::string_view info, std::string_view name) noexcept;

/// A server's error for a command, as a log line may show it: `HMGET: "NOPERM this user has no ..."`. It
/// leaves out the arguments that some servers repeat, and is cut before a window's key, because that contains
/// a client's key. Empty without memory.
std::string server_words(std::string_view command, std::string_view error) noexcept;

}  // namespace rate_limit
