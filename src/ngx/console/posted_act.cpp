#include "ngx/console/posted_act.h"

#include <utility>

#include "ngx/base/response.h"
#include "ngx/conf/conf.h"

namespace rate_limit {

namespace {

/// False where a buffer in a file cannot be read.
bool append_buffer(ngx_buf_t& buffer, std::string& body) {
    if (ngx_buf_in_memory(&buffer) != 0) {
        body.append(reinterpret_cast<const char*>(buffer.pos),
                    static_cast<std::size_t>(buffer.last - buffer.pos));
        return true;
    }
    const std::size_t before = body.size();
    const auto size = static_cast<std::size_t>(ngx_buf_size(&buffer));
    body.resize(before + size);
    auto* to = reinterpret_cast<u_char*>(body.data() + before);
    return size == 0 || ngx_read_file(buffer.file, to, size, buffer.file_pos) == static_cast<ssize_t>(size);
}

}  // namespace

bool announces_too_much(const ngx_http_request_t& r) noexcept {
    return r.headers_in.content_length_n > most_posted;
}

std::optional<std::string> posted_body(const ngx_http_request_t& r) {
    std::string body;
    if (r.request_body == nullptr) {
        return body;
    }
    for (const ngx_chain_t* link = r.request_body->bufs; link != nullptr; link = link->next) {
        const auto size = static_cast<off_t>(ngx_buf_size(link->buf));
        if (size > most_posted - static_cast<off_t>(body.size()) || !append_buffer(*link->buf, body)) {
            return std::nullopt;
        }
    }
    return body;
}

PostedAct::PostedAct(ngx_http_request_t* r, Form form)
    : act_(*main_conf(r), location_conf(r)->console.rights, *this, std::move(form)) {
    resumable_.request = r;
}

PostedAct::~PostedAct() {
    forget_resumption(resumable_);
}

PostedAct* PostedAct::begin(ngx_http_request_t* r, Form form) noexcept {
    try {
        return make<PostedAct>(*r->pool, r, std::move(form));
    } catch (...) {
        return nullptr;
    }
}

PostedAct* PostedAct::find(ngx_http_request_t* r) noexcept {
    return find_at_end<PostedAct>(*r->pool, destroy<PostedAct>,
                                  [r](const PostedAct& posted) { return posted.resumable_.request == r; });
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
