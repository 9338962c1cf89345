#include "limiter/overrides/overrides_command.h"

#include "core/free_list.h"
#include "redis/decode.h"

namespace rate_limit {

namespace {

/// Bytes of memory that a free command may keep for the next text.
constexpr std::size_t most_kept = 4096;

}  // namespace

std::string_view OverridesCommand::encode(CommandWriter& writer) {
    sent = true;
    switch (kind) {
        case Kind::version:
            return writer.overrides_version(key_);
        case Kind::whole:
            return writer.overrides(key_);
        default:
            return writer.replace_overrides(key_, before_, version_, text_, with_text());
    }
}

void OverridesCommand::answered(Node& node, Delivery delivery, const Reply* reply) noexcept {
    if (delivery == Delivery::answered && kind == Kind::replace && owner != nullptr &&
        send_again(node, *reply)) {
        return;
    }
    if (delivery == Delivery::answered && reply->is_error()) {
        node.blame(fault_of(*reply), name(), *reply, kind == Kind::replace ? Access::write : Access::read);
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
    if (command.text_.capacity() > most_kept) {
        std::string().swap(command.text_);
    }
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

OverridesCommand& OverridesCommand::replace(std::string_view key, std::string_view before,
                                            std::int64_t version, std::string_view text, Owner& owner) {
    OverridesCommand& command = make(Kind::replace, key, owner);
    try {
        command.before_.assign(before);
        command.text_.assign(text);
    } catch (...) {
        put_back(command);
        throw;
    }
    command.version_ = version;
    return command;
}

}  // namespace rate_limit
