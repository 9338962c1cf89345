#pragma once

#include <cstdint>
#include <string_view>

namespace rate_limit {

class Zone;

/// The id by which operators know a client of one limit: a keyed hash of store, name and key, constant on
/// this machine as long as its zone lives. `key` is as it reaches Redis. 0 without memory.
std::uint64_t client_id(Zone& zone, std::string_view store, std::string_view name,
                        std::string_view key) noexcept;

}  // namespace rate_limit
