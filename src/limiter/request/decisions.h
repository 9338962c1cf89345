#pragma once

#include <string_view>

#include "limiter/kinds/applied_limit.h"
#include "limiter/request/limited_request.h"

namespace rate_limit {

/// The way of one request under its limits, from top to bottom: recall_or_ask → decide → await_turn →
/// charge_due (or leave_queue) → count_request. What differs between ways of counting is in limiter/modes.

/// The limit cannot be checked: what the request's OnError says decides it.
void decide_unchecked(const LimitedRequest& request, AppliedLimit& applied) noexcept;

/// Decides limits `from` and after by memory where that is enough. Then asks the stores of the others, unless
/// a limit has already refused the request. If a cost never fits, only stores of such limits are asked, so
/// that headers can show their windows.
void recall_or_ask(LimitedRequest& request, std::size_t from) noexcept;

/// Turns what is known of limits `from` and after into verdicts, and all verdicts into the request's outcome.
/// A refusal by one limit gives back what the request holds of the others.
void decide(LimitedRequest& request, std::size_t from) noexcept;

/// After decide() has let the request in: true if it waits now for its turn, by `delay=` of limits `from` and
/// after. The longest of them counts.
bool await_turn(LimitedRequest& request, std::size_t from) noexcept;

/// Its turn has come: counts its wait.
void take_turn(LimitedRequest& request) noexcept;

/// It has ended before its turn had come, and was not run. Limits by which requests wait give back what it
/// has taken if it was the last of their queues, else they charge it; others give it back.
void leave_queue(LimitedRequest& request) noexcept;

/// Whether the request is charged by this limit, unless its status is exempt.
bool is_charged(const LimitedRequest& request, const AppliedLimit& applied) noexcept;

/// An admitted request leaves its limits, which charge it what their verdicts say is due.
void charge_due(LimitedRequest& request) noexcept;

/// The request ends: counts it by its outcome, once.
void count_request(LimitedRequest& request) noexcept;

/// The text of `$rate_limit_source`: whose word decided the limit. `memory`: what this machine remembers, or
/// a store that it is itself; `tokens`: a lease; `replica` or `primary`: the node that answered in time;
/// `none`: no node was to be asked, because the configuration alone decides, or none answered, and
/// rate_limit_on_error decided without knowing the window.
std::string_view decided_by(AppliedLimit& applied) noexcept;

}  // namespace rate_limit
