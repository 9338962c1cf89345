#include "limiter/store/awaited_refund.h"

#include <string>

#include "core/free_list.h"
#include "limiter/charges/write_blame.h"
#include "limiter/store/shard.h"
#include "limiter/wire/node/script_command.h"

namespace rate_limit {

/// Belongs to the node until it is answered; `refund` is null when nobody waits.
class AwaitedRefundCommand final : public ScriptCommand {
public:
    std::string_view window_key() const noexcept override { return key; }
    bool wanted() const noexcept override { return refund != nullptr; }
    void answered(Node& node, Delivery delivery, const Reply* reply) noexcept override;

    AwaitedRefund* refund = nullptr;
    Charges* charges = nullptr;  // those of this primary
    std::string key;
    GivingBack what;
    bool sent = false;  // it may have reached the primary

private:
    friend class AwaitedRefund;

    std::string_view write(CommandWriter& writer) override {
        sent = true;
        return rate_limit::write(writer, key, what, with_text());
    }
    void end(const char* failure, bool in_doubt) noexcept;
    const char* take(Node& node, const Reply& reply, bool& in_doubt) noexcept;

    Window window_;
};

void AwaitedRefundCommand::answered(Node& node, Delivery delivery, const Reply* reply) noexcept {
    if (delivery == Delivery::answered && refund != nullptr && send_again(node, *reply)) {
        return;
    }
    const bool former = delivery == Delivery::answered && !node.is_primary();
    if (delivery == Delivery::unsent || (former && reply->is_error())) {
        end(no_primary, false);
    } else if (delivery == Delivery::in_doubt || former) {
        charges->doubt_given_back(what, former ? Doubt::answered_by_former : Doubt::untold);
        end(no_answer, true);
    } else {
        bool in_doubt = false;
        const char* failure = take(node, *reply, in_doubt);
        end(failure, in_doubt);
    }
}

/// Null, or why the primary did nothing; or perhaps something, where that is `in_doubt`.
const char* AwaitedRefundCommand::take(Node& node, const Reply& reply, bool& in_doubt) noexcept {
    Told told;
    const Fault fault = read_told(reply, told);
    window_ = told.window;
    if (fault != Fault::none) {
        in_doubt = fault == Fault::malformed;
        if (in_doubt) {
            charges->doubt_given_back(what, Doubt::untold);
        }
        blame_write(node, *charges, fault, name(), reply);
        return explain(fault);
    }
    node.served();
    charges->count_given_back();
    charges->given_back(key, what, window_);
    // Nothing was written where there is no window, or a bucket is full: a replica says the same.
    if (told.wrote) {
        charges->proven(node);
    }
    return nullptr;
}

void AwaitedRefundCommand::end(const char* failure, bool in_doubt) noexcept {
    AwaitedRefund* const of = refund;
    const Window window = window_;
    FreeList<AwaitedRefundCommand>::common().put_back(*this);
    if (of != nullptr) {
        of->command_ = nullptr;
        of->in_doubt_ = in_doubt;
        of->window_ = window;
        of->end(failure);
    }
}

void AwaitedRefund::start(Shard& shard, std::string_view key, const GivingBack& what, Owner& owner) noexcept {
    in_doubt_ = false;
    begin(shard.deadlines(), &shard.counters(), owner);
    Node* node = shard.nodes().choose_primary();
    if (node == nullptr) {
        end(no_primary);
        return;
    }
    try {
        std::string copy(key);
        AwaitedRefundCommand& command = FreeList<AwaitedRefundCommand>::common().take();
        command.key.swap(copy);
        command.what = what;
        command.charges = &shard.charges();
        command.sent = false;
        command.window_ = {};
        command.refund = this;
        command.begin_by_digest();
        command_ = &command;
        command.charges->go_before(what.id);
        node->submit(command);
    } catch (...) {
        end("no memory");
    }
}

/// A command that was not sent is not sent any more.
void AwaitedRefund::deadline_passed() noexcept {
    in_doubt_ = command_->sent;
    command_->refund = nullptr;
    command_ = nullptr;
    end(too_late);
}

void AwaitedRefund::cancel() noexcept {
    if (command_ != nullptr) {
        command_->refund = nullptr;
        command_ = nullptr;
    }
    if (waiting()) {
        stop();
    }
}

}  // namespace rate_limit
