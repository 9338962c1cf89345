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

}  // namespace rate_limit
