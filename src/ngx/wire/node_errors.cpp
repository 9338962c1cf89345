#include "ngx/wire/node_errors.h"

namespace rate_limit {

std::string_view to_string(NodeError error) noexcept {
    switch (error) {
        case NodeError::connection:
            return "connection";
        case NodeError::silent:
            return "silent";
        default:
            return to_string(static_cast<Fault>(static_cast<std::size_t>(error) -
                                                static_cast<std::size_t>(NodeError::answer)));
    }
}

}  // namespace rate_limit
