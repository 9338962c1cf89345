#include "limiter/overrides/effect.h"
#include "limiter/request/placing.h"
#include "limiter/store_conf.h"
#include "limiter/zone.h"
#include "ngx/conf/key.h"
#include "ngx/request/costs.h"
#include "ngx/request/limiter.h"
#include "ngx/request/missing.h"
#include "ngx/values/value.h"
#include "redis/keys/shard_choice.h"

namespace rate_limit {

namespace {

/// One limit, while it is evaluated for a request.
struct Candidate {
    const LimitLine& limit;
    std::string_view key;  // the limit's own key; not empty
    KnownOverrides::Effect effect{};
    StoreConf* store = limit.store;                      // null: the memory of this machine (`local`)
    bool found = limit.local || limit.store != nullptr;  // false: a variable names no store
    bool sought = found;                                 // the variable has been asked
    std::string_view named{};                            // the store that the variable names
    ngx_str_t burst = ngx_null_string;                   // the text of the variable of a burst

    std::string_view store_name() const noexcept { return name_of(store); }
};

/// Finds the store that a variable names. NGX_ERROR without memory.
ngx_int_t seek_store(ngx_http_request_t* r, Candidate& candidate) noexcept {
    ngx_str_t name;
    if (evaluate_value(r, *candidate.limit.store_text, name) != NGX_OK) {
        return NGX_ERROR;
    }
    candidate.named = view(name);
    candidate.store = find_store(*main_conf(r), candidate.named);
    candidate.found = candidate.store != nullptr || candidate.named == "local";
    candidate.sought = true;
    return NGX_OK;
}

/// There are overrides: finds what one says, if anything. The limit is enforced, or not, for a part of the
/// keys: that is put into `enforced`. NGX_ERROR without memory.
[[gnu::noinline]] ngx_int_t seek_override(ngx_http_request_t* r, Candidate& candidate,
                                          bool& enforced) noexcept {
    const MainConf& main = *main_conf(r);
    StoredKey key;
    if (!candidate.sought && seek_store(r, candidate) != NGX_OK) {
        return NGX_ERROR;
    }
    if (candidate.found && key.take(candidate.store, candidate.key)) {
        candidate.effect = effect_of(main, candidate.limit, candidate.store_name(), key);
        enforced = candidate.effect.kind == OverrideKind::enforce &&
                   is_enforced(key.text(), candidate.effect.percent);
    }
    return NGX_OK;
}

/// Takes out the limit that was added last, because `twin` already charges its window.
void skip_last(RequestContext& context, const LimitLine& limit, const LimitLine& twin) noexcept {
    context.drop_last();
    if (!limit.skip_logged) {
        limit.skip_logged = true;
        const ngx_str_t name = str(limit.name);
        ngx_log_error(NGX_LOG_WARN, context.request()->connection->log, 0,
                      "rate limit \"%V\" in %V:%ui is skipped where its window turns out to be the same as "
                      "that of the limit in %V:%ui: give one of them another name",
                      &name, &limit.file, limit.line, &twin.file, twin.line);
    }
}

/// The limit counts by a token bucket, unless a variable says that it has none. False: it cannot, and the
/// verdict says so.
bool find_bucket(RequestContext& context, AppliedLimit& applied, const Candidate& candidate,
                 const Rate& rate) noexcept {
    const LimitLine& limit = candidate.limit;
    const ngx_str_t& text = candidate.burst;
    std::int64_t burst = limit.burst;
    if (burst == 0 && text.len == 0) {
        note_missing(context, limit, Missing::burst);
        return true;
    }
    if (burst == 0 && !parse_burst(view(text), burst)) {
        fail(context, applied, "a burst is a whole number from 1 to 1000000000000, or \"off\"", "burst",
             view(text));
        return false;
    }
    const char* const failure = count_tokens(applied, rate, burst);
    if (failure != nullptr) {
        fail(context, applied, failure, "burst", view(limit.burst != 0 ? limit.burst_text->text : text));
        return false;
    }
    note_burst(context.configuration(), limit, rate, burst, candidate.store);
    return true;
}

/// Finds the window of a limit that applies and whose store was sought.
void find_window(RequestContext& context, AppliedLimit& applied, Candidate& candidate,
                 const Rate& rate) noexcept {
    ngx_http_request_t* r = context.request();
    const LimitLine& limit = line_of(applied.limit);
    if (rate.limit == 0) {
        close(applied, rate, now_millis());
        return;
    }
    applied.verdict.rate = rate;
    if (!candidate.found) {
        fail(context, applied, "it is neither \"local\" nor the name of a \"rate_limit_redis\" block",
             "store", candidate.named);
        return;
    }
    note_rate(context.configuration(), limit, rate, candidate.store);
    if (limit.burst_text != nullptr && !find_bucket(context, applied, candidate, rate)) {
        return;
    }
    const char* failure =
        find_place(context.configuration(), memory_of(*r->pool), applied, rate, candidate.store);
    const Limit* twin = failure == nullptr ? twin_of(context, applied) : nullptr;
    if (failure != nullptr) {
        fail(context, applied, failure);
    } else if (twin != nullptr) {
        skip_last(context, limit, line_of(*twin));
    }
}

ngx_int_t evaluate_dry_run(ngx_http_request_t* r, AppliedLimit& applied) noexcept {
    applied.dry_run = applied.limit.enforced != Enforced::yes;
    if (applied.limit.enforced == Enforced::by_a_variable) {
        ngx_str_t text;
        if (evaluate_value(r, *line_of(applied.limit).dry_run.value, text) != NGX_OK) {
            return NGX_ERROR;
        }
        applied.dry_run = is_on(view(text));
    }
    return NGX_OK;
}

/// The text of a variable rate, and of a variable burst. NGX_DECLINED where one says that the limit does not
/// apply.
ngx_int_t evaluate_rate(const RequestContext& context, const LimitLine& limit, ngx_str_t& rate,
                        ngx_str_t& burst) noexcept {
    ngx_http_request_t* r = context.request();
    if (limit.variable_rate && evaluate_value(r, limit.rate_text, rate) != NGX_OK) {
        return NGX_ERROR;
    }
    if (limit.variable_rate && rate.len == 0) {
        note_missing(context, limit, Missing::rate);
        return NGX_DECLINED;
    }
    if (view(rate) == "off") {
        return NGX_DECLINED;
    }
    if (limit.variable_burst && evaluate_value(r, *limit.burst_text, burst) != NGX_OK) {
        return NGX_ERROR;
    }
    return view(burst) == "off" ? NGX_DECLINED : NGX_OK;
}

/// NGX_DECLINED when the limit does not apply to this request.
ngx_int_t evaluate_limit(RequestContext& context, const LimitLine& limit) noexcept {
    ngx_http_request_t* r = context.request();
    ngx_str_t key;
    ngx_str_t text = ngx_null_string;
    ngx_str_t burst = ngx_null_string;
    Rate rate = limit.rate;
    RateError rate_error = RateError::none;

    if (evaluate_value(r, limit.key->value, key) != NGX_OK) {
        return NGX_ERROR;
    }
    count_key(context, limit, key.len != 0);
    if (key.len == 0) {
        note_missing(context, limit, Missing::key);
        return NGX_DECLINED;
    }
    const ngx_int_t says = evaluate_rate(context, limit, text, burst);
    if (says != NGX_OK) {
        return says;
    }
    if (limit.variable_rate) {
        rate_error = limit.kind->parse(view(text), limit.kind->window_kind, rate);
    }
    Candidate candidate{limit, view(key)};
    candidate.burst = burst;
    bool enforced = false;
    if (!main_conf(r)->overrides->none() && seek_override(r, candidate, enforced) != NGX_OK) {
        return NGX_ERROR;
    }
    const OverrideKind kind = candidate.effect.kind;
    if (kind == OverrideKind::allow || kind == OverrideKind::off) {
        context.lift(kind);
        return NGX_DECLINED;
    }

    AppliedLimit& applied = context.add_line(limit);
    applied.client_key = view(key);
    applied.verdict.spread =
        limit.jitter != 0 ? spread_of(applied.client_key, static_cast<std::int64_t>(limit.jitter)) : 0;
    applied.override_kind = kind;
    if (kind == OverrideKind::ban) {
        applied.store_name = candidate.store_name();
        ban(applied, rate_error == RateError::none ? rate : Rate{0, 1}, candidate.effect.until);
        return NGX_OK;
    }
    applied.dry_run = !enforced;
    if (kind != OverrideKind::enforce && evaluate_dry_run(r, applied) != NGX_OK) {
        return NGX_ERROR;
    }
    if (!candidate.sought && seek_store(r, candidate) != NGX_OK) {
        return NGX_ERROR;
    }
    if (candidate.found) {
        applied.store_name = candidate.store_name();
    }
    if (rate_error != RateError::none) {
        fail(context, applied, describe(rate_error), limit.kind->amount, view(text));
        return NGX_OK;
    }
    find_window(context, applied, candidate, rate);
    return NGX_OK;
}

}  // namespace

bool bypassed(ngx_http_request_t* r, const LocationConf& conf, ngx_int_t& status) noexcept {
    status = NGX_OK;
    if (conf.bypass == nullptr) {
        return false;
    }
    for (const Value& value : Elements<const Value>(*conf.bypass)) {
        ngx_str_t text;
        status = evaluate_value(r, value, text);
        if (status != NGX_OK || is_on(view(text))) {
            return status == NGX_OK;
        }
    }
    return false;
}

ngx_int_t evaluate(RequestContext& context, Phase phase) noexcept {
    const LocationConf& conf = context.conf();
    const std::size_t from = context.count();
    for (const LimitLine& limit : Elements<const LimitLine>(*conf.limits)) {
        // A report tells what may be spent of what is shown.
        const bool due = conf.report ? limit.kind->is_spent && !limit.hidden
                                     : limit.phase == static_cast<ngx_uint_t>(phase);
        if (due && evaluate_limit(context, limit) == NGX_ERROR) {
            return NGX_ERROR;
        }
    }
    evaluate_costs_early(context, from);
    return NGX_OK;
}

}  // namespace rate_limit
