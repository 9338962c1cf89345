#pragma once

#include <array>

#include "ngx/base/ngx.h"

namespace rate_limit {

/// Whether nginx has evaluated the variable for the request, also where it has found none.
inline bool is_evaluated(const ngx_http_variable_value_t& variable) noexcept {
    return variable.valid != 0 || variable.not_found != 0;
}

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

/// Keeps what nginx has evaluated for the request, while this lives: at its end nginx's variables are as they
/// were, so that what was evaluated meanwhile is evaluated again when somebody asks. Only `$request_id`
/// stays, of which nginx would make another one. Takes memory of the request: one does for many values.
class KeptVariables {
public:
    explicit KeptVariables(ngx_http_request_t* r) noexcept;
    ~KeptVariables();
    KeptVariables(const KeptVariables&) = delete;
    KeptVariables& operator=(const KeptVariables&) = delete;

    /// False without memory: nothing may be evaluated then.
    bool all() const noexcept { return kept_ != nullptr; }

    /// Lets `evaluate()` find all values as if nothing had been evaluated for the request: a `map` keeps what
    /// it found when its source was not there yet. What has been set, by `auth_request_set` or a script,
    /// counts as it is now. Calls it more than once, and what it finds last counts. False without memory.
    template <typename Evaluate>
    bool evaluate_anew(Evaluate&& evaluate) noexcept {
        if (!notes_set()) {
            return false;
        }
        do {
            forget();
            evaluate();
        } while (find_set());  // each round but the last finds one more that something has set
        return true;
    }

    /// Lets one more value be found so: forgets all but what evaluate_anew(), which has run, has found to be
    /// set.
    void forget() noexcept;

    /// Whether a variable that was evaluated since then has a text, and a name that `wanted()` returns true
    /// for.
    template <typename Wanted>
    bool has_found(Wanted wanted) const noexcept {
        const auto* variables = static_cast<const ngx_http_variable_t*>(known_.elts);
        for (ngx_uint_t i = 0; i < known_.nelts; ++i) {
            if (!set_[i] && has_text(r_->variables[i]) && wanted(view(variables[i].name))) {
                return true;
            }
        }
        return false;
    }

private:
    static bool has_text(const ngx_http_variable_value_t& variable) noexcept {
        return variable.valid != 0 && variable.len != 0;
    }

    bool notes_set() noexcept;
    bool find_set() noexcept;

    ngx_http_request_t* const r_;
    const ngx_array_t& known_;  // elements: ngx_http_variable_t
    ngx_http_variable_value_t* const kept_;
    bool* set_ = nullptr;
};

}  // namespace rate_limit
