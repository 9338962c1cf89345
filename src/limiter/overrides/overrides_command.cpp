#include "limiter/overrides/overrides_command.h"

#include <utility>

#include "core/free_list.h"
#include "redis/decode.h"

namespace rate_limit {

std::string_view OverridesCommand::write(CommandWriter& writer) {
    sent = true;
    switch (kind) {
        case Kind::version:
            return writer.overrides_version(key_);
        case Kind::whole:
            return writer.overrides(key_);
        default:
            return writer.change_overrides(key_, arguments_, with_text());
    }
}

void OverridesCommand::answered(Node& node, Delivery delivery, const Reply* reply) noexcept {
    if (delivery == Delivery::answered && !node.is_primary()) {  // what it has taken is lost with it
        delivery = reply->is_error() ? Delivery::unsent : Delivery::in_doubt;
        reply = nullptr;
    }
    if (delivery == Delivery::answered && kind == Kind::change && owner != nullptr &&
        send_again(node, *reply)) {
        return;
    }
    if (delivery == Delivery::answered && reply->is_error()) {
        const bool lacks_key = kind != Kind::change && lacks_key_right(*reply);
        const Fault fault = lacks_key ? Fault::noperm : fault_of(*reply);
        // The caller that looks tells of a right that is lacking: the node does not, as of a write.
        const bool as_write = kind == Kind::change || fault == Fault::noperm;
        node.blame(fault, name(), *reply, as_write ? Access::write : Access::read);
    } else if (delivery == Delivery::answered) {
        node.served();
    }
    Owner* const of = owner;
    const Kind what = kind;
    put_back(*this);
    if (of != nullptr) {
        of->on_overrides(what, delivery, reply);
    }
}

void OverridesCommand::give_up() noexcept {
    put_back(*this);
}

void OverridesCommand::put_back(OverridesCommand& command) noexcept {
    std::vector<std::string>().swap(command.arguments_);
    FreeList<OverridesCommand>::common().put_back(command);
}

OverridesCommand& OverridesCommand::make(Kind kind, std::string_view key, Owner& owner) {
    OverridesCommand& command = FreeList<OverridesCommand>::common().take();
    try {
        command.key_.assign(key);
    } catch (...) {
        put_back(command);
        throw;
    }
    command.owner = &owner;
    command.kind = kind;
    command.sent = false;
    command.begin_by_digest();
    return command;
}

OverridesCommand& OverridesCommand::change(std::string_view key, std::vector<std::string> arguments,
                                           Owner& owner) {
    OverridesCommand& command = make(Kind::change, key, owner);
    command.arguments_ = std::move(arguments);
    return command;
}

}  // namespace rate_limit
