#include "ngx/charges.h"

#include <algorithm>

#include "core/free_list.h"
#include "redis/answer.h"

namespace rate_limit {

namespace {

constexpr const char* closed_reason = "the window closed before the primary came back";

}  // namespace

/// One charge on its way; after a plain increment that may have made the key, also its repair.
class Charges::ChargeCommand final : public Command {
public:
    static ChargeCommand& take();

    std::string_view encode(CommandWriter& writer) override;
    void answered(Node& node, Delivery delivery, const Reply* reply) noexcept override;

    Charges* charges = nullptr;
    std::string key;
    Waiting what;
    bool plain = false;  // HINCRBY will do, if it is still true when the command leaves
    bool repair = false;
    bool with_text = false;

private:
    static FreeList<ChargeCommand>& free_list();

    void give_back() noexcept { free_list().give_back(*this); }
    void again(Node& node) noexcept;
    void refused(Node& node, Fault fault) noexcept;
    void taken(Node& node, const Reply& reply) noexcept;
};

FreeList<Charges::ChargeCommand>& Charges::ChargeCommand::free_list() {
    static FreeList<ChargeCommand> list;
    return list;
}

Charges::ChargeCommand& Charges::ChargeCommand::take() {
    ChargeCommand& command = free_list().take();
    command.plain = false;
    command.repair = false;
    command.with_text = false;
    return command;
}

std::string_view Charges::ChargeCommand::encode(CommandWriter& writer) {
    const Millis now = now_millis();
    const Millis proposed = what.reset > now ? what.reset : propose_reset(what.kind, what.period, now);
    const Millis latest = latest_reset(what.period, now);
    if (repair) {
        return writer.repair(key, now, proposed, latest, with_text);
    }
    // The increment must arrive while the window is open, whatever the network does to it on the way.
    const Millis margin = std::max<Millis>(1000, 2 * static_cast<Millis>(charges->store_.check_timeout));
    plain = plain && what.reset - now >= margin;
    return plain ? writer.increment(key, what.cost)
                 : writer.charge(key, what.cost, now, proposed, latest, with_text);
}

void Charges::ChargeCommand::answered(Node& node, Delivery delivery, const Reply* reply) noexcept {
    if (delivery == Delivery::answered) {
        const Fault fault = fault_of(*reply);
        if (fault == Fault::none) {
            taken(node, *reply);
        } else {
            refused(node, fault);
        }
        return;
    }
    if (repair) {
        give_back();  // the charge itself was answered; a window without reset is repaired by its next charge
        return;
    }
    if (delivery == Delivery::unsent) {
        charges->wait(*this);
    } else {
        charges->doubt();
    }
    give_back();
}

void Charges::ChargeCommand::again(Node& node) noexcept {
    node.submit(*this);
}

void Charges::ChargeCommand::refused(Node& node, Fault fault) noexcept {
    if (fault == Fault::noscript && !with_text) {
        with_text = true;
        again(node);
    } else if (fault == Fault::other && plain) {
        plain = false;  // the field holds no number: the script opens the window anew
        again(node);
    } else if (is_node_fault(fault)) {
        node.refuse(fault);
        if (!repair) {
            charges->wait(*this);
        }
        give_back();
    } else {
        if (!repair) {
            charges->drop(1, to_string(fault).data());
        }
        give_back();
    }
}

void Charges::ChargeCommand::taken(Node& node, const Reply& reply) noexcept {
    node.served();
    std::int64_t used = 0;
    if (plain && !repair && read_increment(reply, used) == Fault::none && used == what.cost) {
        repair = true;  // the key may not have been there: it needs a reset and an expiry
        again(node);
        return;
    }
    give_back();
}

void Charges::charge(const Charge& charge) noexcept {
    try {
        ChargeCommand& command = ChargeCommand::take();
        command.charges = this;
        command.key.assign(charge.key);
        command.what = {charge.cost, charge.period, charge.kind, charge.reset};
        command.plain = charge.open && primary_.ready();
        primary_.submit(command);
    } catch (...) {
        drop(1, "no memory");
    }
}

void Charges::wait(const ChargeCommand& command) noexcept {
    try {
        const Millis now = now_millis();
        if (waiting_.size() >= max_waiting) {
            drop_closed(now);
        }
        const auto found = waiting_.find(command.key);
        if (found == waiting_.end() && waiting_.size() >= max_waiting) {
            drop(1, "too many windows wait for the primary");
            return;
        }
        if (found != waiting_.end() && found->second.reset > now) {
            found->second.cost += command.what.cost;
            return;
        }
        if (found != waiting_.end()) {
            drop(1, closed_reason);
        }
        Waiting& waiting = waiting_[command.key] = command.what;
        if (waiting.reset <= now) {
            waiting.reset = propose_reset(waiting.kind, waiting.period, now);
        }
    } catch (...) {
        drop(1, "no memory");
    }
}

void Charges::drop_closed(Millis now) noexcept {
    std::uint64_t closed = 0;
    for (auto entry = waiting_.begin(); entry != waiting_.end();) {
        if (entry->second.reset <= now) {
            entry = waiting_.erase(entry);
            ++closed;
        } else {
            ++entry;
        }
    }
    if (closed != 0) {
        drop(closed, closed_reason);
    }
}

void Charges::send_waiting() noexcept {
    if (waiting_.empty()) {
        return;
    }
    drop_closed(now_millis());
    std::unordered_map<std::string, Waiting> waiting;
    waiting.swap(waiting_);
    for (const auto& [key, what] : waiting) {
        charge({key, what.cost, what.period, what.kind, what.reset, false});
    }
}

void Charges::drop(std::uint64_t count, const char* reason) noexcept {
    dropped_ += count;
    std::uint64_t suppressed = 0;
    if (drop_log_.pass(suppressed)) {
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                      "rate limit: charges of %uL windows for primary %s of \"%s\" were dropped: %s (%uL "
                      "dropped so far)",
                      count, primary_.name(), store_.name.c_str(), reason, dropped_);
    }
}

void Charges::doubt() noexcept {
    ++in_doubt_;
    std::uint64_t suppressed = 0;
    if (doubt_log_.pass(suppressed)) {
        ngx_log_error(
            NGX_LOG_ERR, ngx_cycle->log, 0,
            "rate limit: a charge for primary %s of \"%s\" was sent and not answered: it is in doubt and not "
            "sent again (%uL in doubt so far)",
            primary_.name(), store_.name.c_str(), in_doubt_);
    }
}

void Charges::log_lost() noexcept {
    if (!waiting_.empty()) {
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                      "rate limit: the worker leaves while charges of %uz windows wait for primary %s of "
                      "\"%s\": they are "
                      "lost",
                      waiting_.size(), primary_.name(), store_.name.c_str());
    }
}

}  // namespace rate_limit
