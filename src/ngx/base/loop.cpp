#include "limiter/loop.h"

#include <algorithm>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <new>
#include <type_traits>

#include <openssl/rand.h>

#include "ngx/base/ngx.h"

namespace rate_limit {

static_assert(std::is_same_v<Msec, ngx_msec_t> && std::is_same_v<MsecDifference, ngx_msec_int_t>);

Msec msec_now() noexcept {
    return ngx_current_msec;
}

/// nginx reads its clock from the same one, or from the system's coarse one.
std::uint32_t fresh_ticks() noexcept {
#if NGX_HAVE_CLOCK_MONOTONIC
    return static_cast<std::uint32_t>(steady_nanos() / 1'000'000);
#else
    return ticks_now();
#endif
}

std::int64_t steady_nanos() noexcept {
    return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

Millis now_millis() noexcept {
    const ngx_time_t* now = ngx_timeofday();
    return static_cast<Millis>(now->sec) * 1000 + static_cast<Millis>(now->msec);
}

std::int64_t micros_now() noexcept {
    return std::chrono::system_clock::now().time_since_epoch() / std::chrono::microseconds(1);
}

std::uint32_t random_bits() noexcept {
    return static_cast<std::uint32_t>(ngx_random());
}

bool random_bytes(unsigned char* bytes, std::size_t count) noexcept {
    return RAND_bytes(bytes, static_cast<int>(count)) == 1;
}

bool is_leaving() noexcept {
    return ngx_exiting != 0;
}

std::size_t number_of_worker() noexcept {
    return static_cast<std::size_t>(ngx_worker);
}

std::size_t most_connections() noexcept {
    return ngx_cycle->connection_n;
}

LockUser lock_user() noexcept {
    return {process_of(static_cast<std::uint32_t>(ngx_pid)), is_alive};
}

std::uint32_t parent_pid() noexcept {
    return static_cast<std::uint32_t>(ngx_parent);
}

Log& process_log() noexcept {
    return log_of(*ngx_cycle->log);
}

namespace {

/// Whether nginx would write a line of its own core at this level.
bool is_written(const ngx_log_t& log, ngx_uint_t level) noexcept {
    if (level != NGX_LOG_DEBUG) {
        return log.log_level >= level;
    }
#if (NGX_DEBUG)
    return (log.log_level & NGX_LOG_DEBUG_CORE) != 0;
#else
    return false;
#endif
}

}  // namespace

// NOLINTNEXTLINE(cert-dcl50-cpp): the compiler checks the arguments against the format
void log_line(Log& log, LogLevel level, const char* format, ...) noexcept {
    constexpr ngx_uint_t levels[] = {NGX_LOG_ALERT,  NGX_LOG_ERR,  NGX_LOG_WARN,
                                     NGX_LOG_NOTICE, NGX_LOG_INFO, NGX_LOG_DEBUG};
    auto& to = reinterpret_cast<ngx_log_t&>(log);
    const ngx_uint_t of_nginx = levels[static_cast<std::size_t>(level)];
    if (!is_written(to, of_nginx)) {
        return;
    }
    char text[2000];
    std::va_list arguments;
    va_start(arguments, format);
    const int length = std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (length >= 0) {
        ngx_log_error_core(of_nginx, &to, 0, "%*s", std::min<std::size_t>(length, sizeof text - 1), text);
    }
}

char* allocate(RequestMemory& memory, std::size_t size) noexcept {
    return static_cast<char*>(ngx_pnalloc(&reinterpret_cast<ngx_pool_t&>(memory), size));
}

bool has_exact_timers() noexcept {
    return reinterpret_cast<const ngx_core_conf_t*>(ngx_get_conf(ngx_cycle->conf_ctx, ngx_core_module))
               ->timer_resolution == 0;
}

struct Timer::Event {
    ngx_event_t event;
};

namespace {

/// The connection for a timer's `data`: nginx reads its descriptor where it logs events.
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
    static_assert(sizeof(Event) <= sizeof event_ && alignof(Event) <= alignof(void*));
    static_assert(std::is_standard_layout_v<Timer>, "its event lies at its beginning");
    ngx_event_t& event = (new (event_) Event{})->event;
    event.data = no_connection();
    event.handler = [](ngx_event_t* fired) noexcept {
        const Timer& timer = *reinterpret_cast<Timer*>(fired);
        timer.callback_(timer.owner_);
    };
    keep_worker(worker == Worker::stays);
}

void Timer::set(Msec wait) noexcept {
    clear();  // ngx_add_timer() alone ignores changes under NGX_TIMER_LAZY_DELAY
    ngx_event_t& own = event().event;
    own.log = ngx_cycle->log;
    ngx_add_timer(&own, wait);
    due_ = own.timer.key;  // nginx clears the key before it calls the handler
}

void Timer::set_to_end_of_turn() noexcept {
    ngx_event_t* own = &event().event;
    if (own->posted && ngx_queue_last(&ngx_posted_events) == &own->queue) {
        return;  // it is the last one already
    }
    clear();
    own->log = ngx_cycle->log;
    ngx_post_event(own, &ngx_posted_events);
    due_ = ngx_current_msec;
}

void Timer::clear() noexcept {
    ngx_event_t* own = &event().event;
    if (own->timer_set) {
        ngx_del_timer(own);
    }
    if (own->posted) {
        ngx_delete_posted_event(own);
    }
}

bool Timer::armed() const noexcept {
    return event().event.timer_set || event().event.posted;
}

void Timer::keep_worker(bool keeps) noexcept {
    event().event.cancelable = !keeps;
}

bool Timer::keeps_worker() const noexcept {
    return !event().event.cancelable;
}

}  // namespace rate_limit
