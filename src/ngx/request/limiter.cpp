#include "ngx/request/limiter.h"

#include "core/limit/cost.h"
#include "ngx/base/zone.h"
#include "ngx/conf/limit_log.h"
#include "ngx/modes/recollection.h"
#include "ngx/modes/tokens.h"

namespace rate_limit {

namespace {

Outcome used_up(const AppliedLimit& applied) noexcept {
    return applied.dry_run ? Outcome::rejected_dry_run : Outcome::rejected;
}

/// One of the limits refuses the request, or it could not be checked and may not pass.
bool is_refused(const RequestContext& context) noexcept {
    const Outcome outcome = combine(context.verdicts(), context.count());
    return outcome == Outcome::rejected || outcome == Outcome::error_denied;
}

/// The store did not answer: the memory of this machine goes on in its place, if it has room.
bool admit_without_store(RequestContext& context, std::size_t i) noexcept {
    AppliedLimit& applied = context.applied(i);
    if (applied.shard == nullptr) {
        return false;
    }
    Verdict& verdict = context.verdict(i);
    const Admission admission =
        admit(applied, verdict, context.costs()[i], Window{}, Source::memory, now_millis());
    if (admission == Admission::no_room) {
        return false;
    }
    verdict.outcome = admission == Admission::admitted ? Outcome::error_local : used_up(applied);
    return true;
}

/// The limit cannot be checked: rate_limit_on_error decides.
void decide_unchecked(RequestContext& context, std::size_t i) noexcept {
    AppliedLimit& applied = context.applied(i);
    Verdict& verdict = context.verdict(i);
    const auto on_error = static_cast<OnError>(context.conf().on_error);
    if (on_error == OnError::local && admit_without_store(context, i)) {
        return;
    }
    verdict.outcome =
        on_error == OnError::deny && !applied.dry_run ? Outcome::error_denied : Outcome::error_allowed;
    if (applied.shard != nullptr) {
        recollect(applied, verdict, now_millis());
    }
}

/// The store did not answer: that the limit is reached stands where this machine knows it.
bool is_remembered_used_up(AppliedLimit& applied, Verdict& verdict, std::int64_t cost, Millis now) noexcept {
    if (!applied.looked_up) {
        applied.recalled = recall(applied, verdict, cost, now);
        if (applied.recalled != Recalled::nothing) {
            applied.zone->used_up().note(applied.id, now);  // the next one need not ask
        }
    }
    return applied.recalled == Recalled::used_up ||
           (applied.recalled == Recalled::to_confirm && !applied.doubtful);
}

/// An asked store has answered, or failed to; a local limit is its own store.
void decide_one(RequestContext& context, std::size_t i, Millis now) noexcept {
    AppliedLimit& applied = context.applied(i);
    Verdict& verdict = context.verdict(i);
    if (applied.recalled == Recalled::drawn) {
        verdict.outcome = Outcome::passed;
        return;
    }
    const std::int64_t cost = context.costs()[i];
    const bool confirms = applied.recalled == Recalled::to_confirm;
    const Window answer = applied.local() ? Window{} : applied.check.window();
    Source source = Source::memory;

    if (!applied.local()) {
        if (applied.check.failure() != nullptr) {
            if (is_remembered_used_up(applied, verdict, cost, now)) {
                verdict.outcome = used_up(applied);
            } else {
                verdict.known = false;
                fail(context, i, applied.check.failure());
            }
            return;
        }
        source = confirms ? Source::primary : Source::node;
        applied.open = is_open(answer, verdict.rate.period, now);
    }
    const auto admission = [&] {
        if (applied.leases() && cost != 0) {
            return take_tokens(applied, verdict, cost, now);
        }
        return applied.reserves() && !applied.local() ? take_grant(applied, verdict, cost, now)
                                                      : admit(applied, verdict, cost, answer, source, now);
    };
    switch (admission()) {
        case Admission::admitted:
            verdict.outcome = Outcome::passed;
            break;
        case Admission::refused:
            verdict.outcome = used_up(applied);
            break;
        case Admission::no_room:
            if (applied.local()) {
                fail(context, i, "no room in \"rate_limit_zone\": enlarge it");
                break;
            }
            verdict.window = applied.open
                                 ? answer
                                 : Window{0, propose_reset(applied.limit->window, verdict.rate.period, now)};
            verdict.known = true;
            verdict.outcome = decide(verdict.rate, verdict.window, applied.dry_run);
            break;
    }
}

/// Evaluates what will be evaluated once more: of the variables that nginx would keep, those whose value was
/// found now are forgotten, or the second time would find what the first did.
ngx_int_t evaluate_afresh(ngx_http_request_t* r, ngx_http_complex_value_t& value, ngx_str_t& text) noexcept {
    const auto* core =
        static_cast<ngx_http_core_main_conf_t*>(ngx_http_get_module_main_conf(r, ngx_http_core_module));
    const ngx_uint_t count = core->variables.nelts;
    auto* known = static_cast<u_char*>(ngx_pnalloc(r->pool, count));
    if (known == nullptr) {
        return NGX_ERROR;
    }
    for (ngx_uint_t i = 0; i < count; ++i) {
        known[i] = r->variables[i].valid != 0 || r->variables[i].not_found != 0;
    }
    const ngx_int_t evaluated = ngx_http_complex_value(r, &value, &text);
    for (ngx_uint_t i = 0; i < count; ++i) {
        if (known[i] == 0) {
            r->variables[i].valid = 0;
            r->variables[i].not_found = 0;
        }
    }
    return evaluated;
}

/// The request leaves a limit of a Redis store, which counts it here.
Charge owe(AppliedLimit& applied, const Verdict& verdict, std::int64_t cost, Millis now) noexcept {
    const Sending sending = send_charge(applied, verdict, cost, now);
    Charge charge;
    charge.key = applied.key;
    charge.open = sending.open;
    charge.owed.cost = cost;
    charge.owed.period = verdict.rate.period;
    charge.owed.kind = applied.limit->window;
    charge.owed.reset = sending.reset;
    charge.owed.id = applied.id;
    charge.owed.receipt = sending.receipt;
    return charge;
}

void charge_redis(AppliedLimit& applied, const Verdict& verdict, std::int64_t cost, Millis now) noexcept {
    applied.shard->charges().charge(owe(applied, verdict, cost, now));
}

/// The request leaves one where it was charged before: `cost` is what it is charged in all.
void settle_reserved(AppliedLimit& applied, const Verdict& verdict, std::int64_t cost, Millis now) noexcept {
    if (cost == 0) {
        give_back(applied);
        return;
    }
    const std::int64_t more = cost - applied.reserved;
    applied.held = Held::nothing;
    if (more > 0) {
        charge_redis(applied, verdict, more, now);
    } else if (more < 0) {
        applied.shard->charges().refund(applied.key, applied.reservation, -more, applied.held_in);
    }
}

/// The request leaves a leased limit: what its tokens do not cover is charged.
void charge_leased(AppliedLimit& applied, const Verdict& verdict, std::int64_t cost, Millis now) noexcept {
    const std::int64_t rest = settle_tokens(applied, verdict, cost, now);
    if (rest != 0 && applied.check.in_doubt()) {
        applied.shard->charges().settle(
            owe(applied, verdict, rest, now).owed);  // perhaps it is charged already
    } else if (rest != 0) {
        charge_redis(applied, verdict, rest, now);
    } else {
        give_back(applied);
    }
}

void show_unopened(const AppliedLimit& applied, Verdict& verdict, Millis now) noexcept {
    verdict.window = {0, propose_reset(applied.limit->window, verdict.rate.period, now)};
    verdict.known = true;
}

/// Another limit refused the request before this one was asked about: what is known here is shown.
void leave_undecided(AppliedLimit& applied, Verdict& verdict, Millis now) noexcept {
    if (applied.recalled == Recalled::drawn) {
        return;
    }
    if (applied.recalled != Recalled::nothing) {
        verdict.outcome = used_up(applied);
    } else if (applied.zone != nullptr && !recollect(applied, verdict, now)) {
        show_unopened(applied, verdict, now);
    }
}

/// The cost is above the whole limit, whatever is known of the window. False: the store is to say what to
/// show.
bool refuse_before_asking(AppliedLimit& applied, Verdict& verdict, Millis now) noexcept {
    if (!recollect(applied, verdict, now)) {
        if (!applied.local()) {
            return false;
        }
        show_unopened(applied, verdict, now);
    }
    verdict.outcome = used_up(applied);
    return true;
}

/// The store has been asked for the window, or has failed, only so that headers can show it.
void refuse_after_asking(AppliedLimit& applied, Verdict& verdict, Millis now) noexcept {
    if (applied.check.failure() == nullptr) {
        take_in(applied, verdict, applied.check.window(), now);
    } else {
        show_unopened(applied, verdict, now);
    }
    verdict.outcome = used_up(applied);
}

/// Limits `from` and after whose cost never fits are yet to be refused, and one of them will refuse the
/// request.
bool will_be_refused(RequestContext& context, std::size_t from) noexcept {
    for (std::size_t i = from; i < context.count(); ++i) {
        if (context.verdict(i).never_fits && !context.applied(i).dry_run) {
            return true;
        }
    }
    return false;
}

}  // namespace

void fail(RequestContext& context, std::size_t i, const char* reason) noexcept {
    main_conf(context.request())->log->unchecked(context.request(), *context.applied(i).limit, reason);
    decide_unchecked(context, i);
}

void fail(RequestContext& context, std::size_t i, const char* reason, const char* noun,
          std::string_view text) noexcept {
    main_conf(context.request())
        ->log->unchecked(context.request(), *context.applied(i).limit, reason, noun, text);
    decide_unchecked(context, i);
}

void check(RequestContext& context, std::size_t from) noexcept {
    const Millis now = now_millis();
    // A local limit that stands alone is looked at once, when it is decided.
    const bool alone = context.count() == 1;
    for (std::size_t i = from; i < context.count(); ++i) {
        AppliedLimit& applied = context.applied(i);
        if (context.verdict(i).outcome == Outcome::none && context.verdict(i).never_fits) {
            refuse_before_asking(applied, context.verdict(i), now);
            continue;
        }
        if (context.verdict(i).outcome != Outcome::none || (alone && applied.local())) {
            continue;
        }
        if (!looks_up_first(applied)) {
            continue;
        }
        applied.recalled = applied.leases() ? draw(applied, context.verdict(i), context.costs()[i], now)
                                            : recall(applied, context.verdict(i), context.costs()[i], now);
        if (applied.recalled == Recalled::used_up) {
            context.verdict(i).outcome = used_up(applied);
        }
    }
    if (is_refused(context)) {
        return;
    }
    const bool only_for_headers = will_be_refused(context, from);
    context.begin_asking();
    for (std::size_t i = from; i < context.count(); ++i) {
        if (context.verdict(i).outcome == Outcome::none && !context.applied(i).local() &&
            context.applied(i).recalled != Recalled::drawn &&
            (!only_for_headers || context.verdict(i).never_fits)) {
            context.ask(i);
        }
    }
    context.end_asking();
}

void decide(RequestContext& context, std::size_t from) noexcept {
    const Millis now = now_millis();
    for (std::size_t i = from; i < context.count(); ++i) {
        if (context.verdict(i).outcome == Outcome::none && context.verdict(i).never_fits) {
            refuse_after_asking(context.applied(i), context.verdict(i), now);
        }
    }
    const bool refused = is_refused(context);
    context.end_wait();
    for (std::size_t i = from; i < context.count(); ++i) {
        if (context.verdict(i).outcome != Outcome::none) {
            continue;
        }
        if (refused) {
            leave_undecided(context.applied(i), context.verdict(i), now);
        } else {
            decide_one(context, i, now);
        }
    }
    context.outcome = combine(context.verdicts(), context.count());
    if (is_refused(context)) {
        context.give_back_all();
    }
}

void settle_cost(RequestContext& context, std::size_t i) noexcept {
    ngx_http_request_t* r = context.request();
    AppliedLimit& applied = context.applied(i);
    if (applied.cost_known) {
        return;
    }
    ngx_str_t text = ngx_null_string;
    applied.cost_known = true;
    const bool first_of_two = applied.reserves() && applied.held == Held::nothing;
    const ngx_int_t evaluated = first_of_two ? evaluate_afresh(r, *applied.limit->cost, text)
                                             : ngx_http_complex_value(r, applied.limit->cost, &text);
    if (evaluated == NGX_OK && parse_cost(view(text), context.costs()[i])) {
        return;
    }
    context.costs()[i] = 1;
    main_conf(r)->log->bad_cost(r, *applied.limit, view(text));
}

void settle_costs(RequestContext& context) noexcept {
    for (std::size_t i = 0; i < context.count(); ++i) {
        settle_cost(context, i);
    }
}

void settle_costs_again(RequestContext& context) noexcept {
    for (std::size_t i = 0; !context.settled && i < context.count(); ++i) {
        AppliedLimit& applied = context.applied(i);
        if (applied.reserves() && applied.limit->cost->lengths != nullptr) {
            applied.cost_known = false;
        }
    }
    context.settled = true;
    settle_costs(context);
}

const std::int64_t* charges_due(RequestContext& context, ngx_uint_t status) noexcept {
    const bool refused = context.outcome == Outcome::rejected || context.outcome == Outcome::error_denied;
    for (std::size_t i = 0; i < context.count(); ++i) {
        const Outcome own = context.verdict(i).outcome;
        const bool charged =
            own == Outcome::passed || own == Outcome::error_allowed || own == Outcome::error_local;
        const bool exempt = is_exempt(context.applied(i).limit->exempt, status);
        context.due()[i] = charged && !refused && !exempt ? context.costs()[i] : 0;
    }
    return context.due();
}

const Verdict* shown_verdict(RequestContext& context, ngx_uint_t status) noexcept {
    return shown(context.verdicts(), charges_due(context, status), context.count());
}

const Verdict* described_verdict(RequestContext& context, ngx_uint_t status) noexcept {
    return described(context.verdicts(), charges_due(context, status), context.count());
}

bool described_quota(RequestContext& context, ngx_uint_t status, Millis now, Quota& quota) noexcept {
    const Verdict* verdict = described_verdict(context, status);
    if (verdict == nullptr || !verdict->known) {
        return false;
    }
    quota = quota_of(*verdict, context.due()[verdict - context.verdicts()], now);
    return true;
}

namespace {

/// The status that the client got, or would have got. An error page that was found not modified is sent as
/// 304 though err_status, and nginx's own log, keep what it was to be sent as.
ngx_uint_t final_status(const RequestContext& context) noexcept {
    const ngx_http_request_t* r = context.request();
    if (r->header_sent == 0 && r->post_action != 0) {
        return NGX_HTTP_CLIENT_CLOSED_REQUEST;  // the client left, and the status is of post_action
    }
    return r->err_status != 0 && r->header_sent == 0 ? r->err_status : context.status();
}

void charge(RequestContext& context, ngx_uint_t status) noexcept {
    const Millis now = now_millis();
    settle_costs_again(context);
    const std::int64_t* due = charges_due(context, status);
    for (std::size_t i = 0; i < context.count(); ++i) {
        AppliedLimit& applied = context.applied(i);
        const Verdict& verdict = context.verdict(i);
        if (applied.local()) {
            charge_local(applied, verdict, due[i], now);
            continue;
        }
        if (applied.shard == nullptr) {
            continue;  // it could not be checked, and there is nowhere to charge
        }
        if (applied.leases()) {
            charge_leased(applied, verdict, due[i], now);
        } else if (take_late_grant(applied) || applied.held == Held::reserved) {
            settle_reserved(applied, verdict, due[i], now);
        } else if (due[i] != 0 && applied.check.unsettled()) {
            // It may be charged already: its answer will say what is left to do.
            applied.check.keep(owe(applied, verdict, due[i], now).owed);
        } else if (due[i] != 0 && applied.check.in_doubt()) {
            // Perhaps it is charged: never twice. Here it counts.
            applied.shard->charges().settle(owe(applied, verdict, due[i], now).owed);
        } else if (due[i] == 0) {
            give_back(applied);
        } else {
            charge_redis(applied, verdict, due[i], now);
        }
    }
}

}  // namespace

void charge_once(RequestContext& context) noexcept {
    if (!context.charged && context.admitted()) {
        context.charged = true;
        charge(context, final_status(context));
    }
}

}  // namespace rate_limit
