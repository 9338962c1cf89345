#include "ngx/acts/acting.h"
#include "ngx/acts/acts.h"
#include "ngx/acts/key_of_limit.h"

namespace rate_limit {

bool look_up(Acting& acting) {
    acting.fail(ActError::unknown_limit, "There is no such limit.");
    return true;
}

}  // namespace rate_limit
