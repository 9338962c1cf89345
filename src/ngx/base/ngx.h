#pragma once

// The only place that includes nginx's headers.

extern "C" {
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>
#include <ngx_http.h>
}

#include <new>
#include <string_view>
#include <utility>

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

/// Whether the texts are equal without regard to the case of ASCII letters.
inline bool equal_in_any_case(std::string_view a, std::string_view b) noexcept {
    return a.size() == b.size() && ngx_strncasecmp(str(a).data, str(b).data, a.size()) == 0;
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

/// Calls fn(Element&) for each element of a list of nginx.
template <typename Element, typename List, typename Fn>
void for_each_of(List& list, Fn&& fn) {
    for (auto* part = &list.part; part != nullptr; part = part->next) {
        for (Element& element : Elements<Element>(*part)) {
            fn(element);
        }
    }
}

/// Adds an element to an array of nginx, and leaves it as it is. Null without memory.
template <typename Element>
Element* push(ngx_array_t& array) noexcept {
    return static_cast<Element*>(ngx_array_push(&array));
}

/// Calls handler(data) when the pool ends, those that were added last first. NGX_ERROR without memory.
inline ngx_int_t call_at_end(ngx_pool_t& pool, ngx_pool_cleanup_pt handler, void* data) noexcept {
    ngx_pool_cleanup_t* cleanup = ngx_pool_cleanup_add(&pool, 0);
    if (cleanup == nullptr) {
        return NGX_ERROR;
    }
    cleanup->handler = handler;
    cleanup->data = data;
    return NGX_OK;
}

/// The data of the handler that was added last, of those for whose data `wanted` returns true; null: there is
/// none.
template <typename Data, typename Wanted>
Data* find_at_end(const ngx_pool_t& pool, ngx_pool_cleanup_pt handler, Wanted wanted) noexcept {
    for (const ngx_pool_cleanup_t* each = pool.cleanup; each != nullptr; each = each->next) {
        if (each->handler == handler && wanted(*static_cast<const Data*>(each->data))) {
            return static_cast<Data*>(each->data);
        }
    }
    return nullptr;
}

template <typename Data>
Data* find_at_end(const ngx_pool_t& pool, ngx_pool_cleanup_pt handler) noexcept {
    return find_at_end<Data>(pool, handler, [](const Data& /*any*/) { return true; });
}

template <typename Object>
void destroy(void* object) noexcept {
    static_cast<Object*>(object)->~Object();
}

/// An object that is destroyed, by destroy(), when the pool ends. Null without memory.
template <typename Object, typename... Arguments>
Object* make(ngx_pool_t& pool, Arguments&&... arguments) {
    static_assert(alignof(Object) <= NGX_ALIGNMENT, "pools give no more");
    ngx_pool_cleanup_t* cleanup = ngx_pool_cleanup_add(&pool, sizeof(Object));
    if (cleanup == nullptr) {
        return nullptr;
    }
    auto* object = new (cleanup->data) Object(std::forward<Arguments>(arguments)...);
    cleanup->handler = destroy<Object>;
    return object;
}

/// A log of nginx, as the limiter takes it.
inline Log& log_of(ngx_log_t& log) noexcept {
    return reinterpret_cast<Log&>(log);
}

/// The pool of a request, as the limiter takes it.
inline RequestMemory& memory_of(ngx_pool_t& pool) noexcept {
    return reinterpret_cast<RequestMemory&>(pool);
}

}  // namespace rate_limit
