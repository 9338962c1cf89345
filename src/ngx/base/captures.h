#pragma once

#include "ngx/base/ngx.h"

namespace rate_limit {

/// Keeps what the request's own regular expressions captured, `$1` of its location for example, while this
/// lives: an evaluation may match other expressions, of a `map` for example, and nginx has one place for the
/// captures of all of them.
class KeptCaptures {
public:
#if (NGX_PCRE)
    explicit KeptCaptures(ngx_http_request_t* r) noexcept
        : r_(r),
          count_(r->ncaptures),
          captures_(r->captures),
          data_(r->captures_data),
          reallocates_(r->realloc_captures != 0) {
        if (count_ != 0) {
            r->realloc_captures = 1;  // an expression that captures something takes an array of its own
        }
    }
    ~KeptCaptures() {
        if (count_ != 0) {
            r_->captures = captures_;
            r_->realloc_captures = reallocates_ ? 1 : 0;
        }
        r_->ncaptures = count_;
        r_->captures_data = data_;
    }
#else
    explicit KeptCaptures(ngx_http_request_t* /*r*/) noexcept {}
    ~KeptCaptures() = default;
#endif
    KeptCaptures(const KeptCaptures&) = delete;
    KeptCaptures& operator=(const KeptCaptures&) = delete;

#if (NGX_PCRE)
private:
    ngx_http_request_t* const r_;
    const ngx_uint_t count_;
    int* const captures_;
    u_char* const data_;
    const bool reallocates_;
#endif
};

/// As ngx_http_complex_value(), and what the request captured stays.
inline ngx_int_t evaluate_value(ngx_http_request_t* r, ngx_http_complex_value_t& value,
                                ngx_str_t& text) noexcept {
    const KeptCaptures kept(r);
    return ngx_http_complex_value(r, &value, &text);
}

}  // namespace rate_limit
