#include "ngx/request/costs.h"

#include "core/limit/cost.h"
#include "ngx/base/value.h"
#include "ngx/conf/limit_log.h"
#include "ngx/request/missing.h"

namespace rate_limit {

namespace {

/// nginx would find another value each time, and yet a request has only one.
bool belongs_to_request(const ngx_http_variable_t& variable) noexcept {
    return view(variable.name) == "request_id";
}

/// nginx keeps the values of variables. Forgets those that this evaluation found, so that a later evaluation
/// sees what they are then.
ngx_int_t evaluate_afresh(ngx_http_request_t* r, const Value& value, ngx_str_t& text) noexcept {
    const auto* core =
        static_cast<ngx_http_core_main_conf_t*>(ngx_http_get_module_main_conf(r, ngx_http_core_module));
    const auto* variables = static_cast<const ngx_http_variable_t*>(core->variables.elts);
    const ngx_uint_t count = core->variables.nelts;
    auto* known = static_cast<u_char*>(ngx_pnalloc(r->pool, count));
    if (known == nullptr) {
        return NGX_ERROR;
    }
    for (ngx_uint_t i = 0; i < count; ++i) {
        known[i] = is_evaluated(r->variables[i]);
    }
    const ngx_int_t evaluated = evaluate_value(r, value, text);
    for (ngx_uint_t i = 0; i < count; ++i) {
        if (known[i] == 0 && is_evaluated(r->variables[i]) && !belongs_to_request(variables[i])) {
            r->variables[i].valid = 0;
            r->variables[i].not_found = 0;
        }
    }
    return evaluated;
}

using Evaluate = ngx_int_t (*)(ngx_http_request_t*, const Value&, ngx_str_t&);

/// Evaluates the cost, unless it is known. True where that was done, and the cost is empty or 0.
bool evaluate_cost(RequestContext& context, AppliedLimit& applied, Evaluate evaluate) noexcept {
    if (applied.cost_known) {
        return false;
    }
    ngx_http_request_t* r = context.request();
    ngx_str_t text = ngx_null_string;
    applied.cost_known = true;
    if (evaluate(r, *applied.limit.cost, text) != NGX_OK || !parse_cost(view(text), applied.cost)) {
        applied.cost = 1;
        main_conf(r)->log->bad_cost(r, applied.limit, view(text));
    }
    return text.len == 0 || applied.cost == 0;
}

}  // namespace

void evaluate_cost_early(RequestContext& context, AppliedLimit& applied) noexcept {
    (void)evaluate_cost(context, applied, evaluate_afresh);
}

void evaluate_costs(RequestContext& context) noexcept {
    for (std::size_t i = 0; i < context.count(); ++i) {
        AppliedLimit& applied = context.applied(i);
        if (applied.limit.cost->of_end) {
            continue;
        }
        const bool is_nothing = evaluate_cost(context, applied, evaluate_value);
        if (is_nothing && !applied.mode->needs_cost() && context.admitted()) {
            note_missing(context, applied.limit, Missing::cost, applied.cost);
        }
    }
}

void evaluate_final_costs(RequestContext& context) noexcept {
    for (std::size_t i = 0; !context.cost_is_final && i < context.count(); ++i) {
        AppliedLimit& applied = context.applied(i);
        const Value& cost = *applied.limit.cost;
        if (applied.mode->needs_cost() && !cost.is_constant()) {
            applied.cost_known = false;
            if (applied.holding.kind == Holding::Kind::nothing && !cost.of_end) {
                evaluate_cost_early(context, applied);
            }
        }
        if (!cost.of_end) {
            (void)evaluate_cost(context, applied, evaluate_value);
        }
    }
    context.cost_is_final = true;
}

void evaluate_costs_of_end(RequestContext& context) noexcept {
    evaluate_final_costs(context);
    for (std::size_t i = 0; i < context.count(); ++i) {
        (void)evaluate_cost(context, context.applied(i), evaluate_value);
    }
}

}  // namespace rate_limit
