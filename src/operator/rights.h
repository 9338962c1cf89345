#pragma once

namespace rate_limit {

/// What operators may by the console of one location.
struct OperatorRights {
    bool may_act = false;     ///< change what limits say
    bool plain_keys = false;  ///< see keys as they are, not only their ids
};

}  // namespace rate_limit
