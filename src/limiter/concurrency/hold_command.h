#pragma once

#include <string>
#include <string_view>

#include "core/slots/slots_account.h"
#include "core/table/window_id.h"
#include "limiter/concurrency/entrance.h"
#include "limiter/waits/deadlines.h"
#include "limiter/wire/node/script_command.h"
#include "redis/command.h"
#include "redis/script_reply.h"

namespace rate_limit {

/// One call of lua/hold.lua. It belongs to the node until it is answered. After check_timeout its record goes
/// on without it, but takes an answer that comes later.
class HoldCommand final : public ScriptCommand, public Deadline {
public:
    class Owner {
    public:
        /// It is over, one way or the other. Null: there is no answer that counts. The owner puts it back.
        virtual void take(HoldCommand& command, Node& from, const Reply* reply) noexcept = 0;

        /// check_timeout has passed.
        virtual void give_up(HoldCommand& command) noexcept = 0;

    protected:
        ~Owner() = default;
    };

    /// Throws std::bad_alloc. `me` names this machine and outlives it.
    void begin(Owner& owner, std::string_view me, const KeySlots& of, const SlotsCall& what);

    std::string_view window_key() const noexcept override { return key; }
    bool wanted() const noexcept override { return awaited; }
    void answered(Node& from, Delivery delivery, const Reply* reply) noexcept override;

    Hold told() const noexcept { return {me_, call.number, call.limit, call.want, call.least, call.ttl}; }

    std::string key;
    WindowId id;
    SlotsCall call;
    bool awaited = true;      ///< until check_timeout has passed
    Queue<Entrance> waiting;  ///< until then; first come first served

private:
    std::string_view write(CommandWriter& writer) override { return writer.hold(key, told(), with_text()); }
    void deadline_passed() noexcept override { owner_->give_up(*this); }

    Owner* owner_ = nullptr;
    std::string_view me_;
};

}  // namespace rate_limit
