#include "ngx/store/check.h"

#include <algorithm>
#include <string>

#include "core/free_list.h"
#include "ngx/store/store.h"
#include "redis/answer.h"

namespace rate_limit {

/// One node asked for one check. Belongs to the node until it is answered; `check` is null when nobody waits.
class Attempt final : public Command {
public:
    std::string_view encode(CommandWriter& writer) override;
    const char* name() const noexcept override {
        return charges == nullptr ? "HMGET" : script(ScriptName::reserve).file;
    }
    bool wanted() const noexcept override { return check != nullptr; }
    void answered(Node& node, Delivery delivery, const Reply* reply) noexcept override;

    /// Makes it a reservation, which outlives who waits for it: what it needs is copied.
    void reserve(std::string_view key, const Reservation& reservation, Charges& charges);

    Check* check = nullptr;
    Node* node = nullptr;
    Charges* charges = nullptr;  // of the shard, where it reserves; else null
    Debt owed;                   // what the request that is gone owes; no cost: nothing
    bool sent = false;           // the reservation may have reached the primary

private:
    bool send_text(Node& from, const Reply& reply) noexcept;
    void settle(Delivery delivery, const Reply* reply) noexcept;

    Fault read(const Reply& reply, std::int64_t& granted, Window& window) const noexcept {
        const Reservation& what = reservation_;
        const Asked asked{what.rate.limit, what.rate.period, what.want, what.least, sent_at_};
        return read_reserve(reply, asked, granted, window);
    }

    std::string key_;
    Reservation reservation_;
    Millis sent_at_ = 0;
    bool with_text_ = false;

    friend class Check;
};

namespace {

FreeList<Attempt>& attempts() {
    static FreeList<Attempt> list;
    return list;
}

}  // namespace

void Attempt::reserve(std::string_view key, const Reservation& reservation, Charges& of) {
    key_.assign(key);
    reservation_ = reservation;
    with_text_ = false;
    owed = Debt{};
    sent = false;
    charges = &of;
}

std::string_view Attempt::encode(CommandWriter& writer) {
    if (charges == nullptr) {
        return writer.check(check->key_);
    }
    sent = true;
    const Reservation& what = reservation_;
    const Millis now = now_millis();
    sent_at_ = now;
    return writer.reserve(key_, what.rate.limit, what.want, what.least, now,
                          propose_reset(what.kind, what.rate.period, now),
                          latest_reset(what.rate.period, now), with_text_);
}

/// True where the server did not know the script: the text is on its way.
bool Attempt::send_text(Node& from, const Reply& reply) noexcept {
    if (charges == nullptr || check == nullptr || check->owner_ == nullptr || with_text_ ||
        fault_of(reply) != Fault::noscript) {
        return false;
    }
    with_text_ = true;
    from.submit(*this);
    return true;
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
        charges->refund(key_, reservation_, granted - owed.cost, window.reset);
    }
    if (granted < owed.cost) {
        Charge rest;
        rest.key = key_;
        rest.owed = owed;
        rest.owed.cost -= granted;
        charges->charge(rest);
    } else if (owed.cost != 0) {
        charges->settle(owed);
    }
}

void Attempt::answered(Node& from, Delivery delivery, const Reply* reply) noexcept {
    if (delivery == Delivery::answered && send_text(from, *reply)) {
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
    reservation_ = nullptr;
    begin(shard, key, owner);
    ask_first();
}

void Check::reserve(Shard& shard, std::string_view key, const Reservation& reservation,
                    Owner& owner) noexcept {
    of_primary_ = true;
    reservation_ = &reservation;
    begin(shard, key, owner);
    ask_first();
}

void Check::lease(Shard& shard, std::string_view key, const Reservation& reservation, Owner& owner) noexcept {
    reservation_ = &reservation;
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
    shard.store().deadlines().add(*this);
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
    Node* node = shard_->choose(asked.data(), count, of_primary_);
    if (node == nullptr || slot == nullptr) {
        return false;
    }
    try {
        Attempt& attempt = attempts().take();
        attempt.check = this;
        attempt.node = node;
        attempt.charges = nullptr;
        if (reservation_ != nullptr) {
            attempt.reserve(key_, *reservation_, shard_->charges());
        }
        *slot = &attempt;
        node->submit(attempt);
        return true;
    } catch (...) {
        return false;
    }
}

void Check::answered(Attempt& attempt, Node& node, const Reply& reply) noexcept {
    const Fault fault =
        reservation_ != nullptr ? attempt.read(reply, granted_, window_) : read_check(reply, window_);
    if (fault != Fault::none) {
        node.failed(fault, attempt.name(), reply);
    }
    if (fault == Fault::none) {
        node.served();
        if (granted_ != 0) {
            shard_->charges().proven();
        }
        release(attempt);
        end(nullptr);
    } else if (is_node_fault(fault) && (reservation_ == nullptr || !refuses_writes(fault))) {
        node.refuse(fault, attempt.name(), reply);
        lost(attempt);
    } else {
        if (fault == Fault::readonly) {
            shard_->charges().refused(fault, attempt.name(), reply);
        }
        release(attempt);
        end(explain(fault));
    }
}

void Check::lost(Attempt& attempt) noexcept {
    release(attempt);
    if (reservation_ != nullptr) {
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
    shard_->store().deadlines().add(*this);
    if (fetch_ == nullptr) {
        ask_next();
    }
}

void Check::end(const char* failure) noexcept {
    Owner* owner = owner_;
    failure_ = failure;
    waited_ = ngx_current_msec - started_;
    if (reservation_ == nullptr) {
        cancel();
    } else {
        // What is granted from now on is still for whoever asked, until cancel() or keep().
        owner_ = nullptr;
        shard_->store().deadlines().remove(*this);
        Fetches::leave(*this);
    }
    owner->on_checked(*this);
}

void Check::cancel() noexcept {
    if (owner_ != nullptr) {
        owner_ = nullptr;
        shard_->store().deadlines().remove(*this);
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

Deadlines::Deadlines(ngx_msec_t check_timeout, Store& store) noexcept
    : check_timeout_(check_timeout), store_(store) {
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
        store_.read_now();
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
