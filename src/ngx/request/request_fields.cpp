#include "ngx/request/request_fields.h"

#include "core/body/body_kind.h"
#include "ngx/conf/conf.h"
#include "ngx/request/body_reading.h"
#include "ngx/request/context.h"
#include "ngx/request/kept_body.h"

namespace rate_limit {

namespace {

ngx_http_request_body_filter_pt next_request_body_filter;

/// A body that is read for the fields of one location. Lives in the request's pool, whose list of cleanups
/// finds it, also when redirects have cleared nginx's contexts.
struct RequestReading {
    BodyReading* body;
    bool waiting = false;  // until it has come
};

void on_reading_cleanup(void* /*reading*/) noexcept {}

RequestReading* find_reading(const ngx_http_request_t* r) noexcept {
    return find_at_end<RequestReading>(*r->pool, on_reading_cleanup);
}

/// The kind of the body that is to come, or is there; unknown where it can say nothing.
BodyKind kind_of(const ngx_http_request_t& r) noexcept {
    const bool has_body = r.headers_in.content_length_n > 0 || r.headers_in.chunked != 0;
    if (!has_body || r.headers_in.content_type == nullptr || r.discard_body != 0 || r.post_action != 0) {
        return BodyKind::unknown;
    }
    const BodyKind kind = body_kind(view(r.headers_in.content_type->value));
    return kind == BodyKind::json || kind == BodyKind::form ? kind : BodyKind::unknown;
}

/// Null without memory.
RequestReading* begin(ngx_http_request_t* r, const FieldSet& set, BodyKind kind) noexcept {
    BodyReading* body = BodyReading::create(*r->pool, set, kind);
    ngx_pool_cleanup_t* cleanup = ngx_pool_cleanup_add(r->pool, sizeof(RequestReading));
    if (body == nullptr || cleanup == nullptr) {
        return nullptr;
    }
    cleanup->handler = on_reading_cleanup;
    return new (cleanup->data) RequestReading{body};
}

/// nginx's DAV module takes a PUT's body from a file, and would say so before it asked for the body itself.
void ask_for_file(ngx_http_request_t* r) noexcept {
    r->request_body_in_file_only = 1;
    r->request_body_in_persistent_file = 1;
    r->request_body_in_clean_file = 1;
    r->request_body_file_group_access = 1;
    r->request_body_file_log_level = 0;
}

/// The body has come. While read_request() is still asking for it, that goes on by itself.
void on_body(ngx_http_request_t* r) noexcept {
    const RequestReading& reading = *find_reading(r);
    reading.body->end();
    if (reading.waiting) {
        r->write_event_handler = ngx_http_core_run_phases;
        ngx_http_core_run_phases(r);
    }
}

ngx_int_t request_body_filter(ngx_http_request_t* r, ngx_chain_t* in) noexcept {
    const RequestReading* reading = find_reading(r);
    if (reading != nullptr && !reading->body->whole()) {
        reading->body->read(in);
    }
    return next_request_body_filter(r, in);
}

/// The fields of the location whose limits have decided, or are about to; null: it has none.
const FieldSet* set_of(ngx_http_request_t* r, const RequestReading* reading) noexcept {
    if (reading != nullptr) {
        return &reading->body->set();
    }
    const RequestContext* context = RequestContext::find(r);
    return (context != nullptr ? context->conf() : *location_conf(r)).request_fields;
}

}  // namespace

ngx_int_t read_request(ngx_http_request_t* r, const FieldSet& set) noexcept {
    RequestReading* reading = find_reading(r);
    if (reading != nullptr && &reading->body->set() == &set) {
        return NGX_OK;
    }
    const BodyKind kind = kind_of(*r);
    if (kind == BodyKind::unknown) {
        return NGX_OK;
    }
    reading = begin(r, set, kind);
    if (reading == nullptr) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }
    if (r->request_body != nullptr) {
        auto* kept = make<KeptBody>(*r->pool, r, *reading->body);
        return kept != nullptr ? kept->read() : NGX_HTTP_INTERNAL_SERVER_ERROR;
    }
    if (r->method == NGX_HTTP_PUT) {
        ask_for_file(r);
    }
    const ngx_int_t asked = ngx_http_read_client_request_body(r, on_body);
    if (asked >= NGX_HTTP_SPECIAL_RESPONSE) {
        return asked;
    }
    if (reading->body->whole()) {
        --r->main->count;                                   // which nginx has counted for on_body()
        r->write_event_handler = ngx_http_core_run_phases;  // nginx leaves none, and later handlers may wait
        return NGX_OK;
    }
    reading->waiting = true;
    ngx_http_finalize_request(r, NGX_DONE);
    return NGX_DONE;
}

void add_request_filter(const MainConf& main) noexcept {
    if (reads_requests(main)) {
        next_request_body_filter = ngx_http_top_request_body_filter;
        ngx_http_top_request_body_filter = request_body_filter;
    }
}

ngx_int_t request_field_variable(ngx_http_request_t* r, ngx_http_variable_value_t* value,
                                 uintptr_t field) noexcept {
    const RequestReading* reading = find_reading(r->main);
    const FieldSet* set = set_of(r->main, reading);
    const std::size_t number = set != nullptr ? set->find(field) : 0;
    if (set == nullptr || number == set->variables.size()) {
        return set_copy(r, value, unknown_field);
    }
    if (reading == nullptr || !reading->body->good() || reading->body->value(number).text().empty()) {
        return set_copy(r, value, set->defaults[number]);
    }
    return set_copy(r, value, reading->body->value(number).text());
}

}  // namespace rate_limit
