#include "ngx/base/timer.h"

#include <type_traits>

namespace rate_limit {

namespace {

/// What nginx takes a timer's `data` for where it logs events: it reads the descriptor.
ngx_connection_t* no_connection() noexcept {
    static ngx_connection_t connection = [] {
        ngx_connection_t none{};
        none.fd = static_cast<ngx_socket_t>(-1);
        return none;
    }();
    return &connection;
}

}  // namespace

Timer::Timer(void* owner, Callback callback, Worker worker) noexcept : owner_(owner), callback_(callback) {
    event_.data = no_connection();
    event_.handler = on_event;
    keep_worker(worker == Worker::stays);
}

void Timer::on_event(ngx_event_t* event) noexcept {
    static_assert(std::is_standard_layout_v<Timer>, "its event lies at its beginning");
    Timer& timer = *reinterpret_cast<Timer*>(event);
    timer.callback_(timer.owner_);
}

}  // namespace rate_limit
