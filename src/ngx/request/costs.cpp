#include "ngx/request/costs.h"

#include <optional>

#include "limiter/request/placing.h"
#include "ngx/conf/limit_log.h"
#include "ngx/request/missing.h"
#include "ngx/values/kept_variables.h"
#include "ngx/values/value.h"

namespace rate_limit {

namespace {

/// evaluate_cost() where the cost is not known.
[[gnu::noinline]] bool evaluate_unknown_cost(RequestContext& context, AppliedLimit& applied,
                                             const KeptVariables* kept) noexcept {
    ngx_http_request_t* r = context.request();
    ngx_str_t text = ngx_null_string;
    std::int64_t cost = 1;
    CostReading reading = CostReading::senseless;
    applied.cost_known = true;
    if (kept == nullptr || kept->all()) {
        reading = read_cost(r, *line_of(applied.limit).cost, cost, text);
    }
    if (reading == CostReading::senseless) {
        main_conf(r)->log->bad_cost(r, line_of(applied.limit), view(text));
    }
    if (applied.reserved && reading != CostReading::number) {
        applied.cost = *applied.reserved;
        return false;
    }
    applied.cost = cost;
    return reading == CostReading::empty || cost == 0;
}

/// Evaluates the cost, unless it is known. True where that was done, and the request counts as 1 or as
/// nothing because the cost is empty or 0. One that says no number leaves what is reserved. `kept` keeps
/// nginx's variables; null: they may change.
bool evaluate_cost(RequestContext& context, AppliedLimit& applied,
                   const KeptVariables* kept = nullptr) noexcept {
    return !applied.cost_known && evaluate_unknown_cost(context, applied, kept);
}

/// Evaluates costs while this lives, and leaves nginx's variables as they were.
class CostsAside {
public:
    explicit CostsAside(RequestContext& context) noexcept : context_(context) {}

    void evaluate(AppliedLimit& applied) noexcept {
        if (!applied.cost_known) {
            keep_variables();
        }
        (void)evaluate_cost(context_, applied, kept_ ? &*kept_ : nullptr);
    }

    /// The reservation stands for the cost until that is asked for.
    void reserve(AppliedLimit& applied) noexcept {
        const LimitLine& line = line_of(applied.limit);
        ngx_http_request_t* r = context_.request();
        ngx_str_t text = ngx_null_string;
        std::int64_t estimate = 1;
        keep_variables();
        const CostReading reading =
            kept_->all() ? read_cost(r, *line.reserve, estimate, text) : CostReading::senseless;
        if (reading == CostReading::senseless) {
            main_conf(r)->log->bad_reserve(r, line, view(text));
        }
        rate_limit::reserve(applied, estimate);
        applied.cost_known = true;
    }

private:
    void keep_variables() noexcept {
        if (!kept_) {
            kept_.emplace(context_.request());
        }
    }

    RequestContext& context_;
    std::optional<KeptVariables> kept_;  // once there is a cost that is not known
};

/// The response is known: costs may be others by now. Evaluates those of limits of which the request holds
/// nothing.
void evaluate_unheld_costs(RequestContext& context) noexcept {
    CostsAside costs(context);
    for (std::size_t i = 0; i < context.count(); ++i) {
        AppliedLimit& applied = context.applied(i);
        const LimitLine& line = line_of(applied.limit);
        if (applied.mode->needs_cost() && (!line.cost->is_constant() || applied.reserved)) {
            applied.cost_known = false;
            if (applied.holding.kind == Holding::Kind::nothing && !line.costs_at_end()) {
                costs.evaluate(applied);
            }
        }
    }
}

}  // namespace

void evaluate_costs_early(RequestContext& context, std::size_t from) noexcept {
    CostsAside costs(context);
    for (std::size_t i = from; i < context.count(); ++i) {
        AppliedLimit& applied = context.applied(i);
        if (applied.zone == nullptr || !applied.mode->needs_cost()) {
            continue;
        }
        if (line_of(applied.limit).reserve != nullptr && !applied.cost_known) {
            costs.reserve(applied);
        } else {
            costs.evaluate(applied);
            compare_cost(applied);
        }
    }
}

void evaluate_costs(RequestContext& context) noexcept {
    if (context.cost_is_final) {
        return;
    }
    for (std::size_t i = 0; i < context.count(); ++i) {
        AppliedLimit& applied = context.applied(i);
        if (line_of(applied.limit).costs_at_end()) {
            continue;
        }
        const bool is_nothing = evaluate_cost(context, applied);
        if (is_nothing && !applied.mode->needs_cost() && context.admitted()) {
            note_missing(context, line_of(applied.limit), Missing::cost, applied.cost);
        }
    }
}

void evaluate_final_costs(RequestContext& context) noexcept {
    if (context.cost_is_final) {
        return;
    }
    evaluate_unheld_costs(context);
    for (std::size_t i = 0; i < context.count(); ++i) {
        if (!line_of(context.applied(i).limit).costs_at_end()) {
            (void)evaluate_cost(context, context.applied(i));
        }
    }
    context.cost_is_final = true;
}

void evaluate_costs_of_end(RequestContext& context) noexcept {
    evaluate_final_costs(context);
    for (std::size_t i = 0; i < context.count(); ++i) {
        (void)evaluate_cost(context, context.applied(i));
    }
}

}  // namespace rate_limit
