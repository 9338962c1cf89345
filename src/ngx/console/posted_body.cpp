#include "ngx/console/posted_body.h"

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

}  // namespace rate_limit
