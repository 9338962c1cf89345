#include "ngx/conf/later.h"

#include <algorithm>
#include <iterator>

#include "ngx/conf/conf.h"
#include "ngx/conf/named_variables.h"

namespace rate_limit {

namespace {

constexpr struct {
    Later kind;
    std::string_view word;
} later_words[] = {
    {Later::store, "here"},
    {Later::store, "region"},
};

}  // namespace

bool is_later(Later kind, std::string_view word) noexcept {
    return std::any_of(std::begin(later_words), std::end(later_words),
                       [kind, word](const auto& later) { return later.kind == kind && later.word == word; });
}

char* refuse_later(ngx_conf_t* cf, const ngx_str_t& word) noexcept {
    return refuse(cf, "\"%V\" in \"%V\" is not available yet: remove it", &word, &words_of(cf)[0]);
}

/// nginx itself would call them unknown, after this.
ngx_int_t refuse_later_variables(ngx_conf_t* cf) noexcept {
    auto& core = *static_cast<ngx_http_core_main_conf_t*>(
        ngx_http_conf_get_module_main_conf(cf, ngx_http_core_module));
    for (const ngx_http_variable_t& used : Elements<const ngx_http_variable_t>(core.variables)) {
        if (is_later(Later::variable, view(used.name)) && !is_defined(core, view(used.name))) {
            return refuse_merged(cf, "the variable \"$%V\" is not available yet: remove it", &used.name);
        }
    }
    return NGX_OK;
}

}  // namespace rate_limit
