#pragma once

// The only place that includes nginx's headers.

extern "C" {
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>
#include <ngx_http.h>
}

#include <string_view>

#include "core/limit/window.h"

extern "C" ngx_module_t ngx_http_rate_limit_module;

namespace rate_limit {

inline std::string_view view(const ngx_str_t& text) noexcept {
    return {reinterpret_cast<const char*>(text.data), text.len};
}

/// UTC now, as of this turn of the event loop.
inline Millis now_millis() noexcept {
    const ngx_time_t* now = ngx_timeofday();
    return static_cast<Millis>(now->sec) * 1000 + static_cast<Millis>(now->msec);
}

/// Sets `event` to fire `wait` milliseconds from now, however near its present time is: ngx_add_timer alone
/// ignores changes under NGX_TIMER_LAZY_DELAY.
inline void set_timer(ngx_event_t& event, ngx_msec_t wait) noexcept {
    if (event.timer_set) {
        ngx_del_timer(&event);
    }
    ngx_add_timer(&event, wait);
}

inline void clear_timer(ngx_event_t& event) noexcept {
    if (event.timer_set) {
        ngx_del_timer(&event);
    }
}

}  // namespace rate_limit
