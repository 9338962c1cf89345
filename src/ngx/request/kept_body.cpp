#include "ngx/request/kept_body.h"

#include <algorithm>
#include <array>

namespace rate_limit {

namespace {

/// Bytes in one turn: less than a millisecond also of what is slowest to read, short numbers.
constexpr off_t most_in_turn = 32768;

/// The bytes from `at` on, perhaps in `memory`; none: they cannot be read.
std::string_view bytes_of(const ngx_buf_t& buffer, off_t at, std::size_t size, u_char* memory) noexcept {
    if (ngx_buf_in_memory(&buffer)) {
        return view({size, buffer.pos + at});
    }
    const ssize_t got = ngx_read_file(buffer.file, memory, size, buffer.file_pos + at);
    return got > 0 ? view({static_cast<std::size_t>(got), memory}) : std::string_view();
}

}  // namespace

/// True: there is no more to read. A body that is not all there, as when a part of it went to an upstream or
/// its file is cut off, says nothing: the rest may not come.
bool KeptBody::read_part() noexcept {
    std::array<u_char, 8192> memory;
    for (off_t left = most_in_turn; left > 0 && link_ != nullptr;) {
        const off_t rest = ngx_buf_size(link_->buf) - at_;
        const off_t wanted = std::min({rest, left, static_cast<off_t>(memory.size())});
        if (wanted > 0) {
            const std::string_view bytes =
                bytes_of(*link_->buf, at_, static_cast<std::size_t>(wanted), memory.data());
            if (bytes.empty()) {
                link_ = nullptr;
                return true;
            }
            body_.read(bytes);
            at_ += static_cast<off_t>(bytes.size());
            left -= static_cast<off_t>(bytes.size());
        }
        if (at_ >= ngx_buf_size(link_->buf)) {
            link_ = link_->next;
            at_ = 0;
        }
    }
    if (link_ == nullptr && resumable_.request->request_body->rest == 0) {
        body_.end();
    }
    return link_ == nullptr;
}

ngx_int_t KeptBody::read() noexcept {
    if (read_part()) {
        return NGX_OK;
    }
    const auto on_end = [](void* self) noexcept { static_cast<KeptBody*>(self)->stop(); };
    const ngx_int_t waits = wait_in_phase(resumable_.request, on_end, this);
    if (waits == NGX_AGAIN) {
        next_turn_.set(0);
    }
    return waits;
}

void KeptBody::stop() noexcept {
    next_turn_.clear();
    forget_resumption(resumable_);
}

void KeptBody::on_next_turn(void* self) noexcept {
    auto& body = *static_cast<KeptBody*>(self);
    if (body.read_part()) {
        resume_soon(body.resumable_);
    } else {
        body.next_turn_.set(0);
    }
}

}  // namespace rate_limit
