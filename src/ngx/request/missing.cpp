#include "ngx/request/missing.h"

#include <new>

#include "core/limit/cost.h"
#include "ngx/conf/key.h"
#include "ngx/request/anew.h"

namespace rate_limit {

namespace {

/// Lives in the request's pool, and is found on its list of cleanups.
struct Note {
    const Limit& limit;
    Missing what;
    std::int64_t counted;
};

std::size_t noted = 0;  // of all requests of this worker

void on_pool_cleanup(void* /*note*/) noexcept {
    --noted;
}

const Value& value_of(const Limit& limit, Missing what) noexcept {
    switch (what) {
        case Missing::rate:
            return limit.rate_text;
        case Missing::burst:
            return *limit.burst_text;
        case Missing::cost:
            return *limit.cost;
        case Missing::key:
            break;
    }
    return limit.key->value;
}

const char* noun_of(const Limit& limit, Missing what) noexcept {
    if (what == Missing::rate) {
        return limit.is_slots() ? "number" : "rate";
    }
    return what == Missing::burst ? "burst" : "key";
}

bool is_there(ngx_http_request_t* r, const Note& note) noexcept {
    if (note.what == Missing::cost && r->post_action != 0) {
        return false;  // it would be that of another response
    }
    ngx_str_t text;
    if (evaluate_anew(r, value_of(note.limit, note.what), text) != NGX_OK || text.len == 0) {
        return false;
    }
    if (view(text) == "off" && (note.what == Missing::rate || note.what == Missing::burst)) {
        return false;  // the limit would not apply either
    }
    std::int64_t cost = 0;
    return note.what != Missing::cost || (parse_cost(view(text), cost) && cost != note.counted);
}

void tell(ngx_log_t* log, const Note& note) noexcept {
    const Limit& limit = note.limit;
    if (note.what == Missing::cost) {
        ngx_log_error(
            NGX_LOG_ERR, log, 0,
            "the cost of rate limit \"%V\" in %V:%ui is not there yet when the header is sent, and "
            "counts as %L; when the request ends it is: add \"mode=charge_refund\", which evaluates "
            "it then, too",
            &limit.name, &limit.file, limit.line, note.counted);
        return;
    }
    const bool in_access = limit.phase == static_cast<ngx_uint_t>(Phase::access);
    ngx_log_error(NGX_LOG_ERR, log, 0,
                  "the %s of rate limit \"%V\" in %V:%ui is empty when the limit is checked, so that %s, and "
                  "is there when the request ends: %s",
                  noun_of(limit, note.what), &limit.name, &limit.file, limit.line,
                  note.what == Missing::burst ? "no bucket counts" : "it does not apply",
                  in_access ? "add \"phase=precontent\", or use what the request itself says"
                            : "it is set after the precontent phase; use what the request itself says");
}

}  // namespace

void note_missing(const RequestContext& context, const Limit& limit, Missing what,
                  std::int64_t counted) noexcept {
    const Value& value = value_of(limit, what);
    if (value.is_constant() || (value.too_early && what != Missing::cost) || context.conf().report ||
        !limit.watch->may_look(what, ngx_current_msec)) {
        return;
    }
    ngx_pool_cleanup_t* cleanup = ngx_pool_cleanup_add(context.request()->pool, sizeof(Note));
    if (cleanup != nullptr) {
        new (cleanup->data) Note{limit, what, counted};
        cleanup->handler = on_pool_cleanup;
        ++noted;
    }
}

void look_at_missing(ngx_http_request_t* r) noexcept {
    if (noted == 0) {
        return;
    }
    for (const ngx_pool_cleanup_t* cleanup = r->pool->cleanup; cleanup != nullptr; cleanup = cleanup->next) {
        if (cleanup->handler != on_pool_cleanup) {
            continue;
        }
        const Note& note = *static_cast<const Note*>(cleanup->data);
        if (is_there(r, note) && note.limit.watch->tell(note.what)) {
            tell(r->connection->log, note);
        }
    }
}

}  // namespace rate_limit
