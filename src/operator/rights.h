#pragma once

namespace rate_limit {

/// The rights of operators at the console of one location.
struct OperatorRights {
    bool may_act = false;     ///< change what limits say
    bool plain_keys = false;  ///< see keys as they are, not only their ids
};

}  // namespace rate_limit
