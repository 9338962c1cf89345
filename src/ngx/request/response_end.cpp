#include "ngx/request/response_end.h"

#include "ngx/conf/conf.h"

namespace rate_limit {

namespace {

ngx_http_output_body_filter_pt next_end_filter;

bool has_last(const ngx_chain_t* in) noexcept {
    for (; in != nullptr; in = in->next) {
        if (in->buf->last_buf != 0) {
            return true;
        }
    }
    return false;
}

/// nginx still reads from the upstream, though the client has all that it gets: a body that is kept, after
/// HEAD. Or an upgraded connection goes on.
bool reads_upstream(const ngx_http_request_t& r) noexcept {
    const ngx_http_upstream_t* u = r.upstream;
    return u != nullptr && u->cleanup != nullptr && (u->cacheable != 0 || u->store != 0 || u->upgrade != 0);
}

/// Whether nothing that has come so far is still to be sent.
bool is_sent(const ngx_http_request_t& r) noexcept {
    return !reads_upstream(r) && r.header_sent != 0 && r.out == nullptr && r.postponed == nullptr &&
           r.buffered == 0 && r.connection->buffered == 0;
}

/// nginx calls this without a body, too, when a client can take more.
ngx_int_t end_filter(ngx_http_request_t* r, ngx_chain_t* in) noexcept {
    RequestContext* context = r == r->main ? RequestContext::find(r) : nullptr;
    if (context == nullptr || context->is_of_post_action()) {
        return next_end_filter(r, in);
    }
    context->response_ends = context->response_ends || r->header_only != 0 || has_last(in);
    const bool ends = context->response_ends;
    const ngx_int_t passed = next_end_filter(r, in);
    if (ends && passed != NGX_ERROR && is_sent(*r)) {
        context->leave_all();
    }
    return passed;
}

}  // namespace

void add_end_filter(const MainConf& main) noexcept {
    if (main.counts_running) {
        next_end_filter = ngx_http_top_body_filter;
        ngx_http_top_body_filter = end_filter;
    }
}

void note_header_sent(RequestContext& context) noexcept {
    const ngx_http_request_t& r = *context.request();
    if (r.header_only != 0 && r.post_action == 0 && is_sent(r)) {
        context.leave_all();
    }
}

}  // namespace rate_limit
