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

private:
    static bool has_text(const ngx_http_variable_value_t& variable) noexcept {
        return variable.valid != 0 && variable.len != 0;
    }

    bool notes_set() noexcept;
    void forget() noexcept;
    bool find_set() noexcept;

    ngx_http_request_t* const r_;
    const ngx_array_t& known_;  // of ngx_http_variable_t
    ngx_http_variable_value_t* const kept_;
    bool* set_ = nullptr;
};

}  // namespace rate_limit
