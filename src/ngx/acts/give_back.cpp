#include "ngx/acts/acts.h"

namespace rate_limit {

bool reset_window(Acting& acting) {
    return look_up(acting);
}

bool give_back_part(Acting& acting) {
    return look_up(acting);
}

}  // namespace rate_limit
