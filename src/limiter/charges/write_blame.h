#pragma once

#include "limiter/charges/charges.h"
#include "limiter/wire/node/node.h"
#include "redis/decode.h"

namespace rate_limit {

/// Tells the node what the reply to a write says about it, if that is no charge; `fault` is none where it
/// answered as promised.
inline void blame_write(Node& node, Charges& charges, Fault fault, const char* command,
                        const Reply& reply) noexcept {
    if (fault == Fault::none) {
        node.served();
        return;
    }
    // Errors other than READONLY may concern this command alone: charges find out by themselves.
    const Blame blame = node.blame(fault, command, reply, Access::write);
    if (blame == Blame::writes && fault == Fault::readonly) {
        charges.refused(node, fault, command, reply);
    }
}

}  // namespace rate_limit
