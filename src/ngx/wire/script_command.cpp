#include "ngx/wire/script_command.h"

namespace rate_limit {

bool ScriptCommand::send_text(Node& node, const Reply& reply) noexcept {
    if (with_text_ || fault_of(reply) != Fault::noscript) {
        return false;
    }
    with_text_ = true;
    node.submit(*this);
    return true;
}

}  // namespace rate_limit
