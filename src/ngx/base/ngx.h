#pragma once

// The only place that includes nginx's headers.

extern "C" {
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>
#include <ngx_http.h>
}

#include <string_view>

#include "limiter/loop.h"

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

/// A log of nginx, as the limiter takes it.
inline Log& log_of(ngx_log_t& log) noexcept {
    return reinterpret_cast<Log&>(log);
}

/// The pool of a request, as the limiter takes it.
inline RequestMemory& memory_of(ngx_pool_t& pool) noexcept {
    return reinterpret_cast<RequestMemory&>(pool);
}

}  // namespace rate_limit
