#include "limiter/kinds/owed/read_as.h"

#include "redis/command.h"

namespace rate_limit {

/// No node but the primary runs scripts, and the clocks of replicas differ; and what a former primary knows
/// of slots may be lost with it.
ReadAs::From ReadAs::nodes() const noexcept {
    return kind == WindowKind::bucket  ? From::primary
           : kind == WindowKind::slots ? From::still_primary
                                       : From::any_node;
}

std::string_view write(CommandWriter& writer, std::string_view key, const ReadAs& as, const Hold& question,
                       bool with_text) {
    if (as.penalty) {
        return as.kind == WindowKind::bucket ? writer.penalty(key, {true, 0, 0}, with_text)
                                             : writer.check_penalty(key);
    }
    switch (as.kind) {
        case WindowKind::bucket:
            return writer.draw(key, {1, as.fill, 0, 0, 1}, with_text);
        case WindowKind::slots:
            return writer.hold(key, question, with_text);
        default:
            return writer.check(key);
    }
}

}  // namespace rate_limit
