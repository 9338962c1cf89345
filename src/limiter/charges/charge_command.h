#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/free_list.h"
#include "core/limit/window.h"
#include "core/table/keyed_queue.h"
#include "limiter/charges/confirmations.h"
#include "limiter/charges/gate.h"
#include "limiter/charges/losses.h"
#include "limiter/kinds/owed/debt.h"
#include "limiter/wire/node/script_command.h"

namespace rate_limit {

/// One charge or refund, queued or on its way; after a plain increment that may have made the key, also the
/// key's repair.
class ChargeCommand final : public ScriptCommand, public KeyedQueue<ChargeCommand>::Link {
public:
    /// The sender of charges: it is told what becomes of each.
    class Owner {
    public:
        /// Whether a plain increment that leaves now arrives while a window that ends at `reset` is open.
        virtual bool reaches(Millis reset, Millis now) const noexcept = 0;

        /// The primary has taken it. A repair of its key may follow.
        virtual void stored(const Debt& owed) noexcept = 0;

        virtual Confirmations& confirmations() noexcept = 0;
        virtual void confirm(const Debt& owed, const Told& told) noexcept = 0;
        virtual void stop_awaiting(const Debt& owed) noexcept = 0;

        /// Nobody knows whether it counts: what a former primary has taken, perhaps is lost with that.
        virtual void doubt(const Debt& owed, Doubt why) noexcept = 0;
        virtual void drop(const Debt& owed, Loss loss, const char* why) noexcept = 0;

        /// It is given up, as its window has closed, or its bucket is full.
        virtual void expire(const Debt& owed) noexcept = 0;
        virtual void wait(const std::string& key, Debt owed) noexcept = 0;

        /// The number of a refund that leaves now; 0: it cannot be sent twice. What has one is kept
        /// unanswered, or its number ends.
        virtual std::int64_t number_for(const Debt& owed) noexcept = 0;
        virtual void end_number(const Debt& owed) noexcept = 0;

        /// A refund with a number is in doubt, and perhaps is with the primary: it is sent again. False where
        /// it cannot be.
        virtual bool keep_unanswered(const std::string& key, const Debt& owed, std::int64_t number,
                                     Doubt why) noexcept = 0;

        /// Waiting charges are sent again after a pause: the primary led to this node, and it brought
        /// nothing.
        virtual void led_nowhere(const Node& node) noexcept = 0;

        /// A node, of a cluster perhaps of another group, refused a write (`needs`: see Gate::refused()), or
        /// has taken one.
        virtual void refused(Node& node, Fault fault, std::string_view command, const Reply& reply,
                             Gate::Proof needs) noexcept = 0;
        virtual void proven(const Node& node, Gate::Proof proof) noexcept = 0;

        /// The last of each: the command may be taken again. `probe`: it was one. `term`: its own.
        virtual void ended(bool probe, std::uint32_t term) noexcept = 0;

    protected:
        ~Owner() = default;
    };

    /// Throws std::bad_alloc.
    static ChargeCommand& take(Owner& owner);
    static void put_back(ChargeCommand& command) noexcept {
        FreeList<ChargeCommand>::common().put_back(command);
    }

    std::string_view window_key() const noexcept override { return key; }
    void answered(Node& node, Delivery delivery, const Reply* reply) noexcept override;
    WindowId id() const noexcept { return owed.id; }

    /// Whether a plain HINCRBY is under way.
    bool is_increment() const noexcept { return plain && !repair; }

    Owner* owner = nullptr;
    std::string key;
    Debt owed;
    bool plain = false;   // HINCRBY will do, if it is still true when the command leaves
    bool waited = false;  // in the backlog
    bool probe = false;   // its outcome tells whether the primary takes charges
    bool repair = false;
    std::uint32_t term = 0;        // the owner's when it left
    Millis sent = 0;               // when that was
    std::optional<Window> former;  // as a former primary has confirmed it: so much the charge tells this one
    std::int64_t number = 0;       // a refund's, once sent, if it may be sent again; else 0
    std::optional<Doubt> earlier;  // it was sent before under this number, and is in doubt since

private:
    std::string_view write(CommandWriter& writer) override;

    /// The proof that it is as a probe, where it is taken.
    Gate::Proof proof() const noexcept { return owed.moves_on() ? Gate::Proof::window : Gate::Proof::probe; }
    void end() noexcept;
    void come_back() noexcept;
    void refused(Node& node, Fault fault, const Reply& reply) noexcept;
    void answered_by_former(bool took) noexcept;
    void give_up() noexcept;
    void be_in_doubt(Doubt why) noexcept;
    void taken(Node& node, const Reply& reply) noexcept;
};

}  // namespace rate_limit
