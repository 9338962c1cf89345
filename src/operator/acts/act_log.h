#pragma once

#include <cstdint>
#include <string_view>

namespace rate_limit {

class Acting;

/// Logs, at `notice` and with the client's address, what an operator has done to a key under a limit: `what`
/// says what was and what is. `id` as the console shows it; 0: the act is not about a key. The key itself
/// only under keys=plain.
void log_act(const Acting& acting, std::string_view limit, std::string_view store, std::uint64_t id,
             std::string_view what) noexcept;

}  // namespace rate_limit
