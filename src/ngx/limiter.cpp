#include "ngx/limiter.h"

#include <cstring>

#include "core/cost.h"
#include "core/window_key.h"
#include "ngx/log_throttle.h"
#include "ngx/store_conf.h"
#include "redis/digest.h"

namespace rate_limit {

namespace {

/// Something went wrong that concerns all requests of a kind: a line a second, with a count.
void log_error(LogThrottle& throttle, ngx_http_request_t* r, const Limit& limit,
               const char* reason) noexcept {
    std::uint64_t suppressed = 0;
    if (throttle.pass(suppressed)) {
        ngx_log_error(
            NGX_LOG_ERR, r->connection->log, 0,
            "rate limit \"%V\" in %V:%ui could not be checked: %s (%uL more since the last such line)",
            &limit.name, &limit.file, limit.line, reason, suppressed);
    }
}

/// The limit cannot be checked: rate_limit_on_error decides. `known` stays false.
void fail(RequestContext& context, std::size_t i, const char* reason) noexcept {
    static LogThrottle throttle;
    const AppliedLimit& applied = context.applied(i);
    const bool deny = context.conf().on_error == static_cast<ngx_uint_t>(OnError::deny) && !applied.dry_run;
    context.verdict(i).outcome = deny ? Outcome::error_denied : Outcome::error_allowed;
    log_error(throttle, context.request(), *applied.limit, reason);
}

bool is_true(std::string_view value) noexcept {
    return !value.empty() && value != "0" && value != "off";
}

/// The store of one limit; null when the name that a variable gave is no store's.
StoreConf* store_of(ngx_http_request_t* r, const Limit& limit, ngx_int_t& status) noexcept {
    if (limit.store != nullptr) {
        return limit.store;
    }
    ngx_str_t name;
    status = ngx_http_complex_value(r, limit.store_text, &name);
    return status == NGX_OK ? find_store(*main_conf(r), view(name)) : nullptr;
}

/// Writes the window's Redis key into the request's pool and finds the shard that owns it.
const char* locate(ngx_http_request_t* r, AppliedLimit& applied, const Rate& rate, StoreConf& conf,
                   std::string_view key) noexcept {
    Store* store = conf.get();
    DigestHex hex;
    const bool digested = conf.digest.applies(key.size());
    if (digested) {
        if (!conf.digest.digest(key, hex)) {
            return "the key's digest failed";
        }
        key = {hex.data(), hex.size()};
    }
    const std::string_view name = view(applied.limit->name);
    const std::size_t room = conf.prefix.size() + name.size() + key.size() + max_window_key_overhead;
    auto* text = static_cast<char*>(ngx_pnalloc(r->pool, room));
    if (store == nullptr || text == nullptr) {
        return "no memory";
    }
    const char* end =
        write_window_key(text, conf.prefix, name, rate.period, applied.limit->window, key, digested);
    applied.key = {text, static_cast<std::size_t>(end - text)};
    applied.shard = &store->shard_of(key);
    return nullptr;
}

/// NGX_DECLINED when the limit does not apply to this request.
ngx_int_t evaluate_limit(RequestContext& context, const Limit& limit) noexcept {
    ngx_http_request_t* r = context.request();
    ngx_str_t key;
    ngx_str_t text = ngx_null_string;
    Rate rate = limit.rate;
    RateError rate_error = RateError::none;

    if (ngx_http_complex_value(r, limit.key, &key) != NGX_OK) {
        return NGX_ERROR;
    }
    if (key.len == 0) {
        return NGX_DECLINED;
    }
    if (!limit.has_constant_rate()) {
        if (ngx_http_complex_value(r, const_cast<ngx_http_complex_value_t*>(&limit.rate_text), &text) !=
            NGX_OK) {
            return NGX_ERROR;
        }
        if (text.len == 0) {
            return NGX_DECLINED;
        }
        rate_error = parse_rate(view(text), rate);
    }

    const std::size_t i = context.add(limit);
    AppliedLimit& applied = context.applied(i);
    Verdict& verdict = context.verdict(i);
    applied.dry_run = limit.dry_run.on != 0;
    if (limit.dry_run.value != nullptr) {
        if (ngx_http_complex_value(r, limit.dry_run.value, &text) != NGX_OK) {
            return NGX_ERROR;
        }
        applied.dry_run = is_true(view(text));
    }
    if (rate_error != RateError::none) {
        fail(context, i, describe(rate_error));
        return NGX_OK;
    }
    verdict.rate = rate;
    if (rate.limit == 0) {
        verdict.known = true;
        verdict.window = {0, propose_reset(WindowKind::first, rate.period, now_millis())};
        verdict.outcome = decide(rate, verdict.window, applied.dry_run);
        return NGX_OK;
    }
    ngx_int_t status = NGX_OK;
    StoreConf* store = store_of(r, limit, status);
    if (status != NGX_OK) {
        return NGX_ERROR;
    }
    const char* failure = store != nullptr
                              ? locate(r, applied, rate, *store, view(key))
                              : "the store that the variable names is not configured or not available yet";
    if (failure != nullptr) {
        fail(context, i, failure);
    }
    return NGX_OK;
}

}  // namespace

bool bypassed(ngx_http_request_t* r, const LocationConf& conf, ngx_int_t& status) noexcept {
    status = NGX_OK;
    if (conf.bypass == nullptr) {
        return false;
    }
    auto* values = static_cast<ngx_http_complex_value_t*>(conf.bypass->elts);
    for (ngx_uint_t i = 0; i < conf.bypass->nelts; ++i) {
        ngx_str_t value;
        if (ngx_http_complex_value(r, &values[i], &value) != NGX_OK) {
            status = NGX_ERROR;
            return false;
        }
        if (value.len != 0 && view(value) != "0") {
            return true;
        }
    }
    return false;
}

ngx_int_t evaluate(RequestContext& context, Phase phase) noexcept {
    const auto* limits = static_cast<const Limit*>(context.conf().limits->elts);
    for (ngx_uint_t i = 0; i < context.conf().limits->nelts; ++i) {
        if (limits[i].phase == static_cast<ngx_uint_t>(phase) &&
            evaluate_limit(context, limits[i]) == NGX_ERROR) {
            return NGX_ERROR;
        }
    }
    return NGX_OK;
}

void check(RequestContext& context, std::size_t from) noexcept {
    for (std::size_t i = from; i < context.count(); ++i) {
        if (context.verdict(i).outcome == Outcome::rejected) {
            return;
        }
    }
    context.begin_asking();
    for (std::size_t i = from; i < context.count(); ++i) {
        if (context.verdict(i).outcome == Outcome::none) {
            context.ask(i);
        }
    }
    context.end_asking();
}

void decide(RequestContext& context, std::size_t from) noexcept {
    const Millis now = now_millis();
    context.end_wait();
    for (std::size_t i = from; i < context.count(); ++i) {
        AppliedLimit& applied = context.applied(i);
        Verdict& verdict = context.verdict(i);
        if (verdict.outcome != Outcome::none || !applied.check.asked()) {
            continue;
        }
        if (applied.check.failure() != nullptr) {
            fail(context, i, applied.check.failure());
            continue;
        }
        applied.open = is_open(applied.check.window(), verdict.rate.period, now);
        verdict.window = applied.open
                             ? applied.check.window()
                             : Window{0, propose_reset(applied.limit->window, verdict.rate.period, now)};
        verdict.known = true;
        verdict.outcome = decide(verdict.rate, verdict.window, applied.dry_run);
    }
    context.outcome = combine(context.verdicts(), context.count());
}

void settle_costs(RequestContext& context) noexcept {
    static LogThrottle throttle;
    ngx_http_request_t* r = context.request();
    for (std::size_t i = 0; i < context.count(); ++i) {
        AppliedLimit& applied = context.applied(i);
        if (applied.cost_known) {
            continue;
        }
        ngx_str_t text = ngx_null_string;
        applied.cost_known = true;
        if (ngx_http_complex_value(r, applied.limit->cost, &text) != NGX_OK ||
            !parse_cost(view(text), context.costs()[i])) {
            context.costs()[i] = 1;
            std::uint64_t suppressed = 0;
            if (throttle.pass(suppressed)) {
                ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                              "invalid cost \"%V\" of rate limit \"%V\" in %V:%ui counts as 1: it is a whole "
                              "number from "
                              "0 to 1000000000 (%uL more since the last such line)",
                              &text, &applied.limit->name, &applied.limit->file, applied.limit->line,
                              suppressed);
            }
        }
    }
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

bool shown_quota(RequestContext& context, ngx_uint_t status, Millis now, Quota& quota) noexcept {
    const Verdict* verdict = shown_verdict(context, status);
    if (verdict == nullptr) {
        return false;
    }
    quota = quota_of(*verdict, context.due()[verdict - context.verdicts()], now);
    return true;
}

void charge(RequestContext& context, ngx_uint_t status) noexcept {
    settle_costs(context);
    const std::int64_t* due = charges_due(context, status);
    for (std::size_t i = 0; i < context.count(); ++i) {
        const AppliedLimit& applied = context.applied(i);
        const Verdict& verdict = context.verdict(i);
        if (due[i] == 0 || applied.shard == nullptr) {
            continue;
        }
        Charge charge;
        charge.key = applied.key;
        charge.cost = due[i];
        charge.period = verdict.rate.period;
        charge.kind = applied.limit->window;
        charge.reset = verdict.window.reset;
        charge.open = applied.open;
        applied.shard->charges().charge(charge);
    }
}

}  // namespace rate_limit
