#pragma once

#include <array>

#include "ngx/base/ngx.h"

namespace rate_limit {

/// Keeps what the request's own expressions captured, while this lives: nginx has one place for the captures
/// of all expressions, those of a `map` too. It writes into the array that is there, or, for a subrequest,
/// takes another one: so what the array holds is kept, and put into the one that is there at the end. All
/// have room for the captures of any expression.
class KeptCaptures {
public:
#if (NGX_PCRE)
    explicit KeptCaptures(ngx_http_request_t* r) noexcept
        : r_(r), count_(r->ncaptures), data_(r->captures_data), array_(r->captures) {
        if (array_ == nullptr || count_ == 0) {
            return;
        }
        copy_ = few_.data();
        if (count_ > few_.size()) {
            copy_ = static_cast<int*>(ngx_palloc(r->pool, count_ * sizeof(int)));
            if (copy_ == nullptr) {
                failed_ = true;
                return;
            }
        }
        ngx_memcpy(copy_, array_, count_ * sizeof(int));
    }
    ~KeptCaptures() {
        if (r_->captures == nullptr) {
            r_->captures = array_;  // nginx had no memory for another one
        }
        if (copy_ != nullptr) {
            ngx_memcpy(r_->captures, copy_, count_ * sizeof(int));
        }
        r_->ncaptures = count_;
        r_->captures_data = data_;
    }

    /// False without memory: no expression may be tried then.
    bool all() const noexcept {
        return !failed_;
    }
#else
    explicit KeptCaptures(ngx_http_request_t* /*r*/) noexcept {}
    ~KeptCaptures() = default;
    bool all() const noexcept {
        return true;
    }
#endif
    KeptCaptures(const KeptCaptures&) = delete;
    KeptCaptures& operator=(const KeptCaptures&) = delete;

#if (NGX_PCRE)
private:
    ngx_http_request_t* const r_;
    const ngx_uint_t count_;
    u_char* const data_;
    int* const array_;     // null: no expression with groups has been tried
    int* copy_ = nullptr;  // null: nothing is captured
    bool failed_ = false;
    std::array<int, 32> few_;
#endif
};

}  // namespace rate_limit
