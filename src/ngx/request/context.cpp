#include "ngx/request/context.h"

#include "limiter/client_id.h"
#include "limiter/kinds/applied_limit.h"
#include "limiter/store_conf.h"
#include "limiter/tallies/tallies.h"
#include "limiter/windows/stored_key.h"
#include "limiter/zone.h"
#include "ngx/conf/conf.h"
#include "ngx/conf/limit_log.h"

namespace rate_limit {

namespace {

static_assert(alignof(RequestContext) == alignof(AppliedLimit) && alignof(AppliedLimit) == alignof(Verdict),
              "they lie one after the other");

/// The store of the limit. Where none was found, the text of the variable that was to name it.
std::string_view store_name(ngx_http_request_t* r, const AppliedLimit& applied) noexcept {
    const LimitLine& limit = line_of(applied.limit);
    if (!applied.store_name.empty()) {
        return applied.store_name;
    }
    if (limit.store != nullptr) {
        return limit.store->name;
    }
    ngx_str_t name;
    if (limit.local || evaluate_value(r, *limit.store_text, name) != NGX_OK) {
        return "local";
    }
    return view(name);
}

}  // namespace

RequestContext* RequestContext::find(ngx_http_request_t* r) noexcept {
    auto* context = static_cast<RequestContext*>(ngx_http_get_module_ctx(r, ngx_http_rate_limit_module));
    if (context != nullptr || (!r->internal && !r->filter_finalize)) {
        return context;
    }
    // Redirects and filter finalisation clear the module contexts.
    return find_at_end<RequestContext>(*r->pool, on_pool_cleanup);
}

ngx_int_t RequestContext::attach() noexcept {
    ngx_http_request_t* r = request();
    if (call_at_end(*r->pool, on_pool_cleanup, this) != NGX_OK) {
        return NGX_ERROR;
    }
    ngx_http_set_ctx(r, this, ngx_http_rate_limit_module);
    return NGX_OK;
}

/// It keeps out of find()'s way: what the request was admitted to before is still to be settled.
ngx_int_t RequestContext::attach_report() noexcept {
    ngx_http_request_t* r = request();
    if (call_at_end(*r->pool, on_pool_cleanup_of_report, this) != NGX_OK) {
        return NGX_ERROR;
    }
    if (r == r->main && find(r) == nullptr) {
        ngx_http_set_ctx(r, this, ngx_http_rate_limit_module);
    }
    return NGX_OK;
}

/// Subrequests share the pool of their main request.
RequestContext* RequestContext::find_report(ngx_http_request_t* r) noexcept {
    return find_at_end<RequestContext>(
        *r->pool, on_pool_cleanup_of_report, [r](const RequestContext& context) {
            return context.request() == r && &context.conf() == location_conf(r);
        });
}

ngx_int_t RequestContext::attach_lifted() noexcept {
    return call_at_end(*request()->pool, on_pool_cleanup_of_lifted, this);
}

const RequestContext* RequestContext::find_lifted(ngx_http_request_t* r) noexcept {
    return find_at_end<const RequestContext>(*r->pool, on_pool_cleanup_of_lifted);
}

AppliedLimit& RequestContext::add_line(const LimitLine& line) noexcept {
    AppliedLimit& applied = add(line);
    applied.verdict.hidden = line.hidden;
    if (conf_.report) {
        applied.cost = 0;
        applied.cost_known = true;
    } else if (line.reserve == nullptr && line.cost->is_constant()) {
        applied.cost = line.constant_cost;
        applied.cost_known = true;
    } else {
        cost_is_final = false;
    }
    return applied;
}

void RequestContext::on_unchecked(const AppliedLimit& applied, const char* reason) noexcept {
    main_conf(request())->log->unchecked(request(), line_of(applied.limit), reason);
}

std::uint64_t RequestContext::id_of(const AppliedLimit& applied) const noexcept {
    return client_id(request(), applied);
}

/// The log phase, which comes after the request's end, still needs what was decided.
ngx_int_t RequestContext::suspend() noexcept {
    const auto on_end = [](void* self) noexcept { static_cast<RequestContext*>(self)->detach(); };
    const ngx_int_t waits = wait_in_phase(request(), on_end, this);
    if (waits != NGX_AGAIN) {
        detach();
        end();
    }
    return waits;
}

void RequestContext::detach() noexcept {
    forget_resumption(resumable_);
    stop_waiting();
}

/// nginx frees the request, also one that had no log phase. What it still holds was never charged, and is
/// given back.
void RequestContext::on_pool_cleanup(void* self) noexcept {
    auto& context = *static_cast<RequestContext*>(self);
    context.detach();
    context.give_back_all(true);
}

/// A report holds nothing.
void RequestContext::on_pool_cleanup_of_report(void* self) noexcept {
    static_cast<RequestContext*>(self)->detach();
}

/// It has no limits: there is nothing to let go of.
void RequestContext::on_pool_cleanup_of_lifted(void* /*self*/) noexcept {}

std::uint64_t client_id(ngx_http_request_t* r, const AppliedLimit& applied) noexcept {
    const MainConf& main = *main_conf(r);
    RecentIds& recent = main.tallies->recent_ids();
    const bool located = applied.zone != nullptr;
    if (const std::uint64_t known = located ? recent.find(applied.id) : 0; known != 0) {
        return known;
    }
    const std::string_view store = store_name(r, applied);
    std::string_view key = applied.stored_key;
    StoredKey stored;
    if (key.empty()) {
        (void)stored.take(find_store(main, store), applied.client_key);
        key = stored.text();
    }
    const std::uint64_t id = client_id(*main.zone, store, applied.limit.name, key);
    if (located) {
        recent.keep(applied.id, id);
    }
    return id;
}

}  // namespace rate_limit
