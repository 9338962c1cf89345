#pragma once

#include "ngx/base/ngx.h"

namespace rate_limit {

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
