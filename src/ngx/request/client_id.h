#pragma once

#include <cstddef>
#include <cstdint>

namespace rate_limit {

class RequestContext;

/// What `$rate_limit_id` and the log line of a rejection call a client of one limit, without saying who that
/// is: a keyed hash of store, name and key, the same on this machine as long as its zone lives. Computed
/// anew at each call. 0 without memory.
std::uint64_t client_id(const RequestContext& context, std::size_t i) noexcept;

}  // namespace rate_limit
