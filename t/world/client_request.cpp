#include "t/world/client_request.h"

#include <algorithm>
#include <new>
#include <utility>

#include "core/limit/quota.h"
#include "limiter/client_id.h"
#include "limiter/request/decisions.h"
#include "limiter/request/placing.h"
#include "limiter/zone.h"

namespace rate_limit::world {

ClientRequest::ClientRequest(WorkerProcess& worker, RequestSetup setup, Decided decided, Decided turn)
    : LimitedRequest(worker.configuration(), setup.on_error.value_or(worker.configuration().on_error())),
      worker_(worker),
      setup_(std::move(setup)),
      tell_(std::move(decided)),
      tell_turn_(std::move(turn)) {
    const std::size_t room = worker.configuration().limits.size();
    char* const applied = allocate(memory_, room * sizeof(AppliedLimit));
    char* const verdicts = allocate(memory_, room * sizeof(Verdict));
    give_room(reinterpret_cast<AppliedLimit*>(applied), reinterpret_cast<Verdict*>(verdicts));
}

ClientRequest::~ClientRequest() {
    abort();
}

void ClientRequest::begin() {
    worker_.loop().turn([this] {
        begun_at_ = msec_now();
        resume_.emplace(
            this, [](void* self) noexcept { static_cast<ClientRequest*>(self)->conclude(); },
            Timer::Worker::leaves);
        for (const Limit* limit : configuration().limits) {
            if (applies(*limit)) {
                apply(*limit);
            }
        }
        recall_or_ask(*this, 0);
        if (!waiting()) {
            conclude();
        }
    });
}

bool ClientRequest::applies(const Limit& limit) const {
    const std::vector<std::string>& names = setup_.limits;
    return names.empty() || std::find(names.begin(), names.end(), limit.name) != names.end();
}

void ClientRequest::apply(const Limit& limit) {
    AppliedLimit& applied = add(limit);
    applied.client_key = setup_.key;
    applied.cost = setup_.cost;
    applied.cost_known = true;
    applied.dry_run = setup_.dry_run || limit.enforced == Enforced::dry_run;
    if (limit.rate.limit == 0) {
        close(applied, limit.rate, now_millis());
        return;
    }
    applied.store_name = name_of(limit.store);
    applied.verdict.rate = limit.rate;
    const char* failure = limit.burst != 0 ? count_tokens(applied, limit.rate, limit.burst) : nullptr;
    failure =
        failure == nullptr ? find_place(configuration(), memory_, applied, limit.rate, limit.store) : failure;
    if (failure != nullptr) {
        decide_unchecked(*this, applied);
    } else if (applied.mode->needs_cost() && limit.reserves && setup_.reserve) {
        reserve(applied, *setup_.reserve);
    } else if (applied.mode->needs_cost()) {
        compare_cost(applied);
    }
}

void ClientRequest::conclude() {
    if (is_decided()) {
        take_turn(*this);
        if (tell_turn_) {
            tell_turn_(*this);
        }
        return;
    }
    decide(*this, 0);
    if (!is_refusal(outcome)) {
        (void)await_turn(*this, 0);
    }
    for (std::size_t i = 0; i < count(); ++i) {
        applied(i).verdict.due = is_charged(*this, applied(i)) ? applied(i).cost : 0;
    }
    decided_at_ = msec_now();
    if (tell_) {
        tell_(*this);
    }
}

void ClientRequest::end(bool exempt) {
    worker_.loop().turn([this, exempt] {
        for (std::size_t i = 0; i < count(); ++i) {
            applied(i).verdict.due = is_charged(*this, applied(i)) && !exempt ? applied(i).cost : 0;
        }
        if (is_admitted() && !settled) {
            charge_due(*this);
        }
        leave_all();
        count_request(*this);
        let_go();
    });
}

void ClientRequest::end_at_cost(std::int64_t cost) {
    for (std::size_t i = 0; i < count(); ++i) {
        applied(i).cost = cost;
    }
    end();
}

/// Frees the request, as nginx does: nobody is told of it any more, and what it holds goes back.
void ClientRequest::let_go() {
    resume_.reset();
    stop_waiting();
    give_back_all();
    over_ = true;
}

void ClientRequest::abort() {
    if (over_) {
        return;
    }
    worker_.loop().turn([this] {
        stop_waiting();
        if (has_left_queue() && !settled) {
            leave_queue(*this);
            count_request(*this);
        }
        let_go();
    });
}

Quota ClientRequest::quota(std::size_t limit) const noexcept {
    return quota_of(verdicts()[limit], now_millis());
}

void ClientRequest::on_unchecked(const AppliedLimit& applied, const char* reason) noexcept {
    log_line(process_log(), LogLevel::error, "rate limit \"%s\" could not be checked: %s",
             std::string(applied.limit.name).c_str(), reason);
}

std::uint64_t ClientRequest::id_of(const AppliedLimit& applied) const noexcept {
    return client_id(*configuration().zone, applied.store_name, applied.limit.name, applied.stored_key);
}

}  // namespace rate_limit::world
