#include "ngx/console/posted_act.h"

#include <new>
#include <utility>

#include "ngx/base/response.h"
#include "ngx/conf/conf.h"

namespace rate_limit {

PostedAct::PostedAct(ngx_http_request_t* r, Form form)
    : act_(*main_conf(r), location_conf(r)->console.rights, *this, std::move(form)) {
    resumable_.request = r;
}

PostedAct::~PostedAct() {
    forget_resumption(resumable_);
}

PostedAct* PostedAct::begin(ngx_http_request_t* r, Form form) noexcept {
    static_assert(alignof(PostedAct) <= NGX_ALIGNMENT, "pools give no more");
    ngx_pool_cleanup_t* cleanup = ngx_pool_cleanup_add(r->pool, sizeof(PostedAct));
    if (cleanup == nullptr) {
        return nullptr;
    }
    try {
        new (cleanup->data) PostedAct(r, std::move(form));
    } catch (...) {
        return nullptr;
    }
    cleanup->handler = on_pool_cleanup;
    return static_cast<PostedAct*>(cleanup->data);
}

PostedAct* PostedAct::find(ngx_http_request_t* r) noexcept {
    for (ngx_pool_cleanup_t* cleanup = r->pool->cleanup; cleanup != nullptr; cleanup = cleanup->next) {
        auto* posted = static_cast<PostedAct*>(cleanup->data);
        if (cleanup->handler == on_pool_cleanup && posted->resumable_.request == r) {
            return posted;
        }
    }
    return nullptr;
}

void PostedAct::on_pool_cleanup(void* self) noexcept {
    static_cast<PostedAct*>(self)->~PostedAct();
}

void PostedAct::wait() noexcept {
    resumable_.request->read_event_handler = ngx_http_block_reading;
    resumable_.request->write_event_handler = ignore_write;
    act_.wait();
}

std::string_view PostedAct::address() const noexcept {
    return view(resumable_.request->connection->addr_text);
}

std::string_view PostedAct::user() const noexcept {
    return view(resumable_.request->headers_in.user);
}

Log& PostedAct::log() const noexcept {
    return log_of(*resumable_.request->connection->log);
}

RequestMemory& PostedAct::memory() const noexcept {
    return memory_of(*resumable_.request->pool);
}

void PostedAct::resume() noexcept {
    resume_soon(resumable_);
}

}  // namespace rate_limit
