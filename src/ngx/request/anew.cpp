#include "ngx/request/anew.h"

#include <utility>

namespace rate_limit {

namespace {

bool has_text(const ngx_http_variable_value_t& variable) noexcept {
    return variable.valid != 0 && variable.len != 0;
}

/// The variables of a request, put aside while this lives.
class PutAside {
public:
    explicit PutAside(ngx_http_request_t* r) noexcept
        : r_(r),
          count_(
              static_cast<ngx_http_core_main_conf_t*>(ngx_http_get_module_main_conf(r, ngx_http_core_module))
                  ->variables.nelts),
          kept_(static_cast<Kept*>(ngx_pcalloc(r->pool, count_ * sizeof(Kept)))),
          log_level_(std::exchange(r->connection->log->log_level, NGX_LOG_STDERR)) {
        for (ngx_uint_t i = 0; kept_ != nullptr && i < count_; ++i) {
            kept_[i].value = r->variables[i];
        }
    }
    ~PutAside() {
        for (ngx_uint_t i = 0; kept_ != nullptr && i < count_; ++i) {
            r_->variables[i] = kept_[i].value;
        }
        r_->connection->log->log_level = log_level_;
    }
    PutAside(const PutAside&) = delete;
    PutAside& operator=(const PutAside&) = delete;

    bool all() const noexcept { return kept_ != nullptr; }

    /// Forgets all that can be evaluated.
    void forget() noexcept {
        for (ngx_uint_t i = 0; i < count_; ++i) {
            r_->variables[i] = kept_[i].set ? kept_[i].value : ngx_http_variable_value_t{};
        }
    }

    /// Finds variables that had a text, and have none when they are evaluated: something has set them. True
    /// if there are some that were not known before.
    bool find_set() noexcept {
        bool found = false;
        for (ngx_uint_t i = 0; i < count_; ++i) {
            const ngx_http_variable_value_t& now = r_->variables[i];
            if (!kept_[i].set && is_evaluated(now) && !has_text(now) && has_text(kept_[i].value)) {
                found = kept_[i].set = true;
            }
        }
        return found;
    }

private:
    struct Kept {
        ngx_http_variable_value_t value;
        bool set;
    };

    ngx_http_request_t* const r_;
    const ngx_uint_t count_;
    Kept* const kept_;
    const ngx_uint_t log_level_;
};

}  // namespace

/// Each round but the last finds a variable more that something has set.
ngx_int_t evaluate_anew(ngx_http_request_t* r, const Value& value, ngx_str_t& text) noexcept {
    PutAside variables(r);
    if (!variables.all()) {
        return NGX_ERROR;
    }
    do {
        variables.forget();
        if (evaluate_value(r, value, text) != NGX_OK) {
            return NGX_ERROR;
        }
    } while (variables.find_set());
    return NGX_OK;
}

}  // namespace rate_limit
