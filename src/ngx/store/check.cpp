#include "ngx/store/check.h"

#include <algorithm>
#include <string>

#include "core/free_list.h"
#include "ngx/store/reserve_command.h"
#include "ngx/store/shard.h"
#include "redis/answer.h"

namespace rate_limit {

/// One node asked for one check. Belongs to the node until it is answered; `check` is null when nobody waits.
class Attempt final : public ReserveCommand {
public:
    std::string_view encode(CommandWriter& writer) override;
    const char* name() const noexcept override {
        return charges == nullptr ? "HMGET" : ReserveCommand::name();
    }
    bool wanted() const noexcept override { return check != nullptr; }
    void answered(Node& node, Delivery delivery, const Reply* reply) noexcept override;

    Check* check = nullptr;
    Node* node = nullptr;
    Debt owed;          // what the request that is gone owes; no cost: nothing
    bool sent = false;  // the reservation may have reached the primary

private:
    bool is_awaited() const noexcept { return check != nullptr && check->owner_ != nullptr; }
    void settle(Delivery delivery, const Reply* reply) noexcept;

    friend class Check;
};

namespace {

FreeList<Attempt>& attempts() {
    static FreeList<Attempt> list;
    return list;
}

}  // namespace

std::string_view Attempt::encode(CommandWriter& writer) {
    if (charges == nullptr) {
        return writer.check(check->key_);
    }
    sent = true;
    return ReserveCommand::encode(writer);
}

/// Nobody waits any more for what was granted; or nobody knows whether it was.
void Attempt::settle(Delivery delivery, const Reply* reply) noexcept {
    std::int64_t granted = 0;
    Window window;
    if (delivery == Delivery::in_doubt) {
        owed.cost != 0 ? charges->doubt(owed) : charges->doubt_reservation();
        return;
    }
    if (delivery == Delivery::answered && read(*reply, granted, window) != Fault::none) {
        granted = 0;
    }
    if (granted > owed.cost) {
        charges->refund(key, demand, granted - owed.cost, window.reset);
    }
    if (granted < owed.cost) {
        Charge rest;
        rest.key = key;
        rest.owed = owed;
        rest.owed.cost -= granted;
        charges->charge(rest);
    } else if (owed.cost != 0) {
        charges->settle(owed);
    }
}

void Attempt::answered(Node& from, Delivery delivery, const Reply* reply) noexcept {
    if (delivery == Delivery::answered && charges != nullptr && is_awaited() && send_text(from, *reply)) {
        return;
    }
    if (charges != nullptr && (check == nullptr || delivery == Delivery::in_doubt)) {
        settle(delivery, reply);
    }
    if (check == nullptr) {
        attempts().give_back(*this);
        return;
    }
    check->in_doubt_ = check->in_doubt_ || (charges != nullptr && delivery == Delivery::in_doubt);
    if (check->owner_ == nullptr) {
        check->late(*this, reply);
    } else if (delivery == Delivery::answered) {
        check->answered(*this, from, *reply);
    } else {
        check->lost(*this);
    }
}

void Check::start(Shard& shard, std::string_view key, bool of_primary, Owner& owner) noexcept {
    of_primary_ = of_primary;
    demand_ = nullptr;
    begin(shard, key, owner);
    ask_first();
}

void Check::reserve(Shard& shard, std::string_view key, const Demand& demand, Owner& owner) noexcept {
    of_primary_ = true;
    demand_ = &demand;
    begin(shard, key, owner);
    ask_first();
}

void Check::lease(Shard& shard, std::string_view key, const Demand& demand, Owner& owner) noexcept {
    demand_ = &demand;
    begin(shard, key, owner);
    shard.fetches().ask(*this);
}

void Check::begin(Shard& shard, std::string_view key, Owner& owner) noexcept {
    owner_ = &owner;
    shard_ = &shard;
    key_ = key;
    stage_ = 0;
    started_ = ngx_current_msec;
    failure_ = nullptr;
    granted_ = 0;
    in_doubt_ = false;
    shard.deadlines().add(*this);
}

void Check::ask_first() noexcept {
    if (!ask_next()) {
        end("no node of the shard is up");
    }
}

/// False when there is no further node to ask. True says nothing of what is left: the attempt may have
/// failed, and the check ended, before this returns.
bool Check::ask_next() noexcept {
    std::array<const Node*, max_attempts> asked{};
    std::size_t count = 0;
    Attempt** slot = nullptr;
    for (Attempt*& attempt : attempts_) {
        if (attempt == nullptr) {
            slot = &attempt;
        } else {
            asked[count++] = attempt->node;
        }
    }
    Nodes& nodes = shard_->nodes();
    Node* node = nullptr;
    if (!of_primary_) {
        node = nodes.choose(asked.data(), count);
    } else if (count == 0) {
        node = nodes.choose_primary();
    }
    if (node == nullptr || slot == nullptr) {
        return false;
    }
    try {
        Attempt& attempt = attempts().take();
        attempt.check = this;
        attempt.node = node;
        attempt.charges = nullptr;
        if (demand_ != nullptr) {
            attempt.begin(key_, *demand_, shard_->charges());
            attempt.owed = Debt{};
            attempt.sent = false;
        }
        *slot = &attempt;
        node->submit(attempt);
        return true;
    } catch (...) {
        return false;
    }
}

void Check::answered(Attempt& attempt, Node& node, const Reply& reply) noexcept {
    if (demand_ != nullptr) {
        const Fault fault = attempt.take(node, reply, granted_, window_);
        release(attempt);
        end(fault == Fault::none ? nullptr : explain(fault));
        return;
    }
    const Fault fault = read_check(reply, window_);
    if (fault == Fault::none) {
        node.served();
        release(attempt);
        end(nullptr);
    } else if (node.blame(fault, attempt.name(), reply, Access::read) == Blame::node) {
        lost(attempt);
    } else {
        release(attempt);
        end(explain(fault));
    }
}

void Check::lost(Attempt& attempt) noexcept {
    release(attempt);
    if (demand_ != nullptr) {
        end("the primary did not answer");  // perhaps it took it: it is not asked again
        return;
    }
    if (ask_next()) {
        return;
    }
    for (const Attempt* other : attempts_) {
        if (other != nullptr) {
            return;
        }
    }
    end("no node of the shard is up");
}

void Check::release(Attempt& attempt) noexcept {
    for (Attempt*& slot : attempts_) {
        if (slot == &attempt) {
            slot = nullptr;
        }
    }
    attempt.check = nullptr;
    attempts().give_back(attempt);
}

void Check::deadline_passed() noexcept {
    if (++stage_ >= max_attempts) {
        end("no answer in check_timeout");
        return;
    }
    shard_->deadlines().add(*this);
    if (fetch_ == nullptr) {
        ask_next();
    }
}

void Check::end(const char* failure) noexcept {
    Owner* owner = owner_;
    failure_ = failure;
    waited_ = ngx_current_msec - started_;
    if (demand_ == nullptr) {
        cancel();
    } else {
        // What is granted from now on is still for whoever asked, until cancel() or keep().
        owner_ = nullptr;
        shard_->deadlines().remove(*this);
        Fetches::leave(*this);
    }
    owner->on_checked(*this);
}

void Check::cancel() noexcept {
    if (owner_ != nullptr) {
        owner_ = nullptr;
        shard_->deadlines().remove(*this);
        Fetches::leave(*this);
    }
    for (Attempt*& attempt : attempts_) {
        if (attempt != nullptr) {
            attempt->check = nullptr;
            attempt = nullptr;
        }
    }
}

bool Check::unsettled() const noexcept {
    return owner_ == nullptr && std::any_of(attempts_.begin(), attempts_.end(), [](const Attempt* attempt) {
               return attempt != nullptr && attempt->sent;
           });
}

void Check::keep(const Debt& owed) noexcept {
    for (Attempt* attempt : attempts_) {
        if (attempt != nullptr && attempt->sent) {
            attempt->owed = owed;
        }
    }
    cancel();
}

/// After the end of a reservation: nobody is told, but what it got is there to be settled.
void Check::late(Attempt& attempt, const Reply* reply) noexcept {
    if (reply == nullptr || attempt.read(*reply, granted_, window_) != Fault::none) {
        granted_ = 0;
    }
    release(attempt);
}

Deadlines::Deadlines(ngx_msec_t check_timeout, Owner& owner) noexcept
    : check_timeout_(check_timeout), owner_(owner) {
    for (ngx_queue_t& queue : queues_) {
        ngx_queue_init(&queue);
    }
}

void Deadlines::add(Check& check) noexcept {
    ngx_queue_insert_tail(&queues_[check.stage_], &check.link_);
    timer_.keep_worker(true);
    if (!timer_.armed() || static_cast<ngx_msec_int_t>(timer_.due() - deadline(check)) > 0) {
        arm(ngx_current_msec);
    }
}

void Deadlines::remove(Check& check) noexcept {
    if (check.link_.next != nullptr) {
        ngx_queue_remove(&check.link_);
        check.link_.next = nullptr;
        timer_.keep_worker(!empty());
    }
}

bool Deadlines::empty() const noexcept {
    for (const ngx_queue_t& queue : queues_) {
        if (!ngx_queue_empty(&queue)) {
            return false;
        }
    }
    return true;
}

ngx_msec_t Deadlines::deadline(const Check& check) const noexcept {
    return check.started_ + (check_timeout_ * (check.stage_ + 1)) / stages;
}

bool Deadlines::is_overdue(ngx_msec_t now) const noexcept {
    return std::any_of(queues_.begin(), queues_.end(), [&](const ngx_queue_t& queue) {
        return !ngx_queue_empty(&queue) &&
               static_cast<ngx_msec_int_t>(
                   now - deadline(*ngx_queue_data(ngx_queue_head(&queue), Check, link_))) >= 0;
    });
}

void Deadlines::on_timer(void* self) noexcept {
    static_cast<Deadlines*>(self)->judge();
}

/// Answers that lie in the sockets are read before any deadline is judged.
void Deadlines::judge() noexcept {
    if (is_overdue(ngx_current_msec)) {
        owner_.read_now();
    }
    if (is_overdue(ngx_current_msec)) {
        if (lateness_.excuses(timer_)) {
            timer_.set(lateness_.grace());
            return;
        }
        pass(ngx_current_msec);
    }
    arm(ngx_current_msec);
}

/// Last stage first: a check moves to the next queue at most once a call.
void Deadlines::pass(ngx_msec_t now) noexcept {
    for (std::size_t stage = stages; stage-- > 0;) {
        ngx_queue_t& queue = queues_[stage];
        while (!ngx_queue_empty(&queue)) {
            auto* check = ngx_queue_data(ngx_queue_head(&queue), Check, link_);
            if (static_cast<ngx_msec_int_t>(now - deadline(*check)) < 0) {
                break;
            }
            remove(*check);
            check->deadline_passed();
        }
    }
}

void Deadlines::arm(ngx_msec_t now) noexcept {
    ngx_msec_int_t wait = -1;
    for (ngx_queue_t& queue : queues_) {
        if (!ngx_queue_empty(&queue)) {
            const auto* check = ngx_queue_data(ngx_queue_head(&queue), Check, link_);
            const auto left = ngx_max(static_cast<ngx_msec_int_t>(deadline(*check) - now), 1);
            wait = wait < 0 ? left : ngx_min(wait, left);
        }
    }
    if (wait > 0) {
        timer_.set(static_cast<ngx_msec_t>(wait));
    }
}

}  // namespace rate_limit
