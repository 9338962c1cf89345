#pragma once

// The only place that includes nginx's headers.

extern "C" {
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>
#include <ngx_http.h>
}

#include <chrono>
#include <string_view>

#include "core/limit/window.h"

extern "C" ngx_module_t ngx_http_rate_limit_module;

namespace rate_limit {

inline std::string_view view(const ngx_str_t& text) noexcept {
    return {reinterpret_cast<const char*>(text.data), text.len};
}

/// The text stays where it is: nginx does not write to it.
inline ngx_str_t str(std::string_view text) noexcept {
    return {text.size(), reinterpret_cast<u_char*>(const_cast<char*>(text.data()))};
}

/// The elements of an array of nginx, or of one part of a list.
template <typename Element>
class Elements {
public:
    template <typename Array>
    explicit Elements(const Array& array) noexcept
        : begin_(static_cast<Element*>(array.elts)), end_(begin_ + array.nelts) {}

    Element* begin() const noexcept { return begin_; }
    Element* end() const noexcept { return end_; }

private:
    Element* const begin_;
    Element* const end_;
};

/// UTC now, as of this turn of the event loop.
inline Millis now_millis() noexcept {
    const ngx_time_t* now = ngx_timeofday();
    return static_cast<Millis>(now->sec) * 1000 + static_cast<Millis>(now->msec);
}

/// The steady clock that all workers share, modulo 2^32, as of this turn of the event loop.
inline std::uint32_t ticks_now() noexcept {
    return static_cast<std::uint32_t>(ngx_current_msec);
}

/// Microseconds, UTC, read now.
inline std::int64_t micros_now() noexcept {
    return std::chrono::system_clock::now().time_since_epoch() / std::chrono::microseconds(1);
}

/// A clock that nobody sets, read now.
inline std::int64_t steady_nanos() noexcept {
    return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

/// ticks_now(), but read now: the turn may have been long, or the worker was stopped in it. Never before
/// ticks_now(), which nginx reads from the same clock or from the system's coarse one.
inline std::uint32_t fresh_ticks() noexcept {
#if NGX_HAVE_CLOCK_MONOTONIC
    return static_cast<std::uint32_t>(steady_nanos() / 1'000'000);
#else
    return ticks_now();
#endif
}

}  // namespace rate_limit
