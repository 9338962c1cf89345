#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/limit/window.h"
#include "limiter/charges/losses.h"
#include "limiter/kinds/owed/demand.h"
#include "limiter/wire/node/script_command.h"

namespace rate_limit {

class Charges;
struct Debt;

/// Asks the primary for a Grant: a call of reserve.lua, or of bucket.lua for a bucket. It owns all that it
/// needs, because the request may be gone when it is answered.
class GrantCommand : public ScriptCommand {
public:
    std::string_view window_key() const noexcept override { return key; }

protected:
    /// Throws std::bad_alloc. `charges`: of the same primary.
    void begin(std::string_view key, const Demand& what, Charges& of);

    std::string_view write(CommandWriter& writer) override;
    Opening opening_at(Millis now) const noexcept;

    /// The answer as it is; what it says of the node's clock the node learns. What is granted is 0 on any
    /// fault.
    Fault read(Node& node, const Reply& reply, Told& told) noexcept;

    /// Reads the answer as read() does, and tells the node and the charges what else it says about them.
    Fault judge(Node& node, const Reply& reply, Told& told) noexcept;

    /// The true delivery: where another node has become the primary since it was sent, what the former one
    /// did may be lost with it; and an error may say that all the same something was stored.
    Delivery became(Node& node, Delivery delivery, const Reply* reply) noexcept;

    /// It is in doubt: counts it, and what the request owes that has left it behind.
    void doubt(const Debt* owed) noexcept;

    /// Tells the node what the reply says about it.
    void blame(Node& node, Fault fault, const Reply& reply) noexcept;

    std::int64_t number = 0;         // a batch's, if it may be asked for again; else 0
    std::int64_t wanted_before = 0;  // tokens asked for under this number already
    Charges* charges = nullptr;
    std::string key;
    Demand demand;              // `want` and `least` as they are sent
    std::int64_t parts = 1;     // the script grants at most one of this many parts of what is left
    std::int64_t back = 0;      // goes back first, to the window that is open,
    Millis back_to = 0;         // if that ends then, or before
    Doubt why = Doubt::untold;  // where it is in doubt

private:
    Millis sent_at_ = 0;
    Nanos asked_ = 0;  // when it was sent, by steady_nanos()
};

}  // namespace rate_limit
