#pragma once

#include <cstdint>
#include <string_view>

namespace rate_limit {

/// The server that answers requests, as operators are told of it.
struct Serving {
    std::string_view module;  ///< its version
    std::string_view nginx;   ///< its version
    std::string_view host;
    std::int64_t workers;  ///< that the configuration asks for
};

/// Whoever runs the limiter defines it.
Serving serving() noexcept;

/// The rights of operators at the console of one location.
struct OperatorRights {
    bool may_act = false;     ///< change what limits say
    bool plain_keys = false;  ///< see keys as they are, not only their ids
};

}  // namespace rate_limit
