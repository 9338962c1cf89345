#include "ngx/values/kept_variables.h"

namespace rate_limit {

namespace {

const ngx_array_t& variables_of(ngx_http_request_t* r) noexcept {
    return static_cast<const ngx_http_core_main_conf_t*>(
               ngx_http_get_module_main_conf(r, ngx_http_core_module))
        ->variables;
}

/// nginx would find another value each time, and yet a request has only one.
bool belongs_to_request(const ngx_http_variable_t& variable) noexcept {
    return view(variable.name) == "request_id";
}

}  // namespace

KeptVariables::KeptVariables(ngx_http_request_t* r) noexcept
    : r_(r),
      known_(variables_of(r)),
      kept_(static_cast<ngx_http_variable_value_t*>(
          ngx_palloc(r->pool, known_.nelts * sizeof(ngx_http_variable_value_t)))) {
    if (all()) {
        ngx_memcpy(kept_, r->variables, known_.nelts * sizeof(ngx_http_variable_value_t));
    }
}

KeptVariables::~KeptVariables() {
    const auto* variables = static_cast<const ngx_http_variable_t*>(known_.elts);
    for (ngx_uint_t i = 0; all() && i < known_.nelts; ++i) {
        const bool found = !is_evaluated(kept_[i]) && is_evaluated(r_->variables[i]);
        if (!found || !belongs_to_request(variables[i])) {
            r_->variables[i] = kept_[i];
        }
    }
}

bool KeptVariables::notes_set() noexcept {
    if (all() && set_ == nullptr) {
        set_ = static_cast<bool*>(ngx_pcalloc(r_->pool, known_.nelts * sizeof(bool)));
    }
    return set_ != nullptr;
}

void KeptVariables::forget() noexcept {
    for (ngx_uint_t i = 0; i < known_.nelts; ++i) {
        r_->variables[i] = set_[i] ? kept_[i] : ngx_http_variable_value_t{};
    }
}

/// Finds variables that had a text, and have none when they are evaluated: something has set them. True if
/// there are some that were not known before.
bool KeptVariables::find_set() noexcept {
    bool found = false;
    for (ngx_uint_t i = 0; i < known_.nelts; ++i) {
        const ngx_http_variable_value_t& now = r_->variables[i];
        if (!set_[i] && is_evaluated(now) && !has_text(now) && has_text(kept_[i])) {
            found = set_[i] = true;
        }
    }
    return found;
}

}  // namespace rate_limit
