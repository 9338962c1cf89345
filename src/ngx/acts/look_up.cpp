#include "ngx/acts/acting.h"
#include "ngx/acts/acts.h"
#include "ngx/acts/limits_of_key.h"

namespace rate_limit {

bool look_up(Acting& acting) {
    if (!acting.asked) {
        if (!find_limits(acting)) {
            return true;
        }
        acting.asked = true;
        ask_primaries(acting);
        if (acting.waiting()) {
            return false;
        }
    }
    if (take_answers(acting)) {
        show_limits(acting);
    }
    return true;
}

}  // namespace rate_limit
