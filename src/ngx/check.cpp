#include "ngx/check.h"

#include "core/free_list.h"
#include "ngx/store.h"
#include "redis/answer.h"

namespace rate_limit {

/// One node asked for one check. Belongs to the node until it is answered; `check` is null when nobody waits.
class Attempt final : public Command {
public:
    std::string_view encode(CommandWriter& writer) override { return writer.check(check->key_); }
    bool wanted() const noexcept override { return check != nullptr; }
    void answered(Node& node, Delivery delivery, const Reply* reply) noexcept override;

    Check* check = nullptr;
    Node* node = nullptr;
};

namespace {

FreeList<Attempt>& attempts() {
    static FreeList<Attempt> list;
    return list;
}

}  // namespace

void Attempt::answered(Node& from, Delivery delivery, const Reply* reply) noexcept {
    if (check == nullptr) {
        attempts().give_back(*this);
    } else if (delivery == Delivery::answered) {
        check->answered(*this, from, *reply);
    } else {
        check->lost(*this);
    }
}

void Check::start(Shard& shard, std::string_view key, bool of_primary, Owner& owner) noexcept {
    owner_ = &owner;
    shard_ = &shard;
    key_ = key;
    of_primary_ = of_primary;
    stage_ = 0;
    started_ = ngx_current_msec;
    failure_ = nullptr;
    shard.store().deadlines().add(*this);
    if (!ask_next()) {
        end("no node of the shard is up");
    }
}

/// False when there is no further node to ask. True says nothing of what is left: the attempt may have
/// failed, and the check ended, before this returns.
bool Check::ask_next() noexcept {
    std::array<const Node*, max_attempts> asked{};
    Attempt** slot = nullptr;
    for (std::size_t i = 0; i < max_attempts; ++i) {
        if (attempts_[i] == nullptr) {
            slot = &attempts_[i];
        } else {
            asked[i] = attempts_[i]->node;
        }
    }
    Node* node = shard_->choose(asked.data(), asked.size(), of_primary_);
    if (node == nullptr || slot == nullptr) {
        return false;
    }
    try {
        Attempt& attempt = attempts().take();
        attempt.check = this;
        attempt.node = node;
        *slot = &attempt;
        node->submit(attempt);
        return true;
    } catch (...) {
        return false;
    }
}

void Check::answered(Attempt& attempt, Node& node, const Reply& reply) noexcept {
    const Fault fault = read_check(reply, window_);
    if (fault != Fault::none) {
        node.failed(fault);
    }
    if (fault == Fault::none) {
        node.served();
        release(attempt);
        end(nullptr);
    } else if (is_node_fault(fault)) {
        node.refuse(fault);
        lost(attempt);
    } else {
        release(attempt);
        end(explain(fault));
    }
}

void Check::lost(Attempt& attempt) noexcept {
    release(attempt);
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
    ask_next();
}

void Check::end(const char* failure) noexcept {
    Owner* owner = owner_;
    failure_ = failure;
    waited_ = ngx_current_msec - started_;
    cancel();
    owner->on_checked(*this);
}

void Check::cancel() noexcept {
    if (owner_ == nullptr) {
        return;
    }
    owner_ = nullptr;
    shard_->store().deadlines().remove(*this);
    for (Attempt*& attempt : attempts_) {
        if (attempt != nullptr) {
            attempt->check = nullptr;
            attempt = nullptr;
        }
    }
}

CheckDeadlines::CheckDeadlines(ngx_msec_t check_timeout) noexcept : check_timeout_(check_timeout) {
    for (ngx_queue_t& queue : queues_) {
        ngx_queue_init(&queue);
    }
    timer_.data = this;
    timer_.handler = on_timer;
    timer_.log = ngx_cycle->log;
}

void CheckDeadlines::add(Check& check) noexcept {
    ngx_queue_insert_tail(&queues_[check.stage_], &check.link_);
    timer_.cancelable = 0;
    if (!timer_.timer_set || static_cast<ngx_msec_int_t>(timer_.timer.key - deadline(check)) > 0) {
        arm(ngx_current_msec);
    }
}

void CheckDeadlines::remove(Check& check) noexcept {
    if (check.link_.next != nullptr) {
        ngx_queue_remove(&check.link_);
        check.link_.next = nullptr;
        timer_.cancelable = empty();
    }
}

bool CheckDeadlines::empty() const noexcept {
    for (const ngx_queue_t& queue : queues_) {
        if (!ngx_queue_empty(&queue)) {
            return false;
        }
    }
    return true;
}

ngx_msec_t CheckDeadlines::deadline(const Check& check) const noexcept {
    return check.started_ + (check_timeout_ * (check.stage_ + 1)) / stages;
}

void CheckDeadlines::on_timer(ngx_event_t* event) noexcept {
    auto& self = *static_cast<CheckDeadlines*>(event->data);
    self.pass(ngx_current_msec);
    self.arm(ngx_current_msec);
}

/// Last stage first: a check moves to the next queue at most once a call.
void CheckDeadlines::pass(ngx_msec_t now) noexcept {
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

void CheckDeadlines::arm(ngx_msec_t now) noexcept {
    ngx_msec_int_t wait = -1;
    for (ngx_queue_t& queue : queues_) {
        if (!ngx_queue_empty(&queue)) {
            const auto* check = ngx_queue_data(ngx_queue_head(&queue), Check, link_);
            const auto left = ngx_max(static_cast<ngx_msec_int_t>(deadline(*check) - now), 1);
            wait = wait < 0 ? left : ngx_min(wait, left);
        }
    }
    if (wait > 0) {
        set_timer(timer_, static_cast<ngx_msec_t>(wait));
    }
}

}  // namespace rate_limit
