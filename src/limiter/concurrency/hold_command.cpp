#include "limiter/concurrency/hold_command.h"

#include "limiter/wire/node/node.h"

namespace rate_limit {

void HoldCommand::begin(Owner& owner, std::string_view me, const KeySlots& of, const SlotsCall& what) {
    key.assign(of.key);
    id = of.id;
    call = what;
    awaited = true;
    owner_ = &owner;
    me_ = me;
    begin_by_digest();
}

void HoldCommand::answered(Node& from, Delivery delivery, const Reply* reply) noexcept {
    // Changes that a former primary has made may be lost with it.
    const bool by_primary = delivery == Delivery::answered && from.is_primary();
    if (by_primary && wanted() && send_again(from, *reply)) {
        return;
    }
    owner_->take(*this, from, by_primary ? reply : nullptr);
}

}  // namespace rate_limit
