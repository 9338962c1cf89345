#include "ngx/conf/named_variables.h"

#include <algorithm>

#include "core/limit/decision.h"
#include "ngx/conf/conf.h"
#include "ngx/values/variable_names.h"

namespace rate_limit {

namespace {

/// Whether a map, a geo, a set or a module defines the variable itself, not by the start of its name.
bool is_defined(const ngx_http_core_main_conf_t& core, std::string_view name) noexcept {
    const Elements<const ngx_hash_key_t> known(core.variables_keys->keys);
    return std::any_of(known.begin(), known.end(), [name](const auto& key) { return view(key.key) == name; });
}

ngx_int_t check_named(ngx_conf_t* cf, const MainConf& main, const ngx_str_t& variable) noexcept {
    const Limit* found = nullptr;
    for (const Limit* limit : main.limits) {
        if (!is_named_in_variable(limit->name, limit_in(view(variable)))) {
            continue;
        }
        if (found != nullptr && found->name != limit->name) {
            const ngx_str_t one = str(found->name);
            const ngx_str_t other = str(limit->name);
            return refuse_merged(
                cf,
                "the variable \"$%V\" is of the limit \"%V\" in %V:%ui and of \"%V\" in %V:%ui, "
                "as case, \"-\", \".\" and \"_\" make no difference there: give one of them "
                "another \"name=\"",
                &variable, &one, &line_of(*found).file, line_of(*found).line, &other, &line_of(*limit).file,
                line_of(*limit).line);
        }
        found = limit;
    }
    if (found == nullptr) {
        warn_merged(cf, "the variable \"$%V\" is always empty: no limit has that name", &variable);
    }
    return NGX_OK;
}

}  // namespace

ngx_int_t check_named_variables(ngx_conf_t* cf, const MainConf& main) noexcept {
    auto& core = *static_cast<ngx_http_core_main_conf_t*>(
        ngx_http_conf_get_module_main_conf(cf, ngx_http_core_module));
    for (const ngx_http_variable_t& used : Elements<const ngx_http_variable_t>(core.variables)) {
        const std::string_view name = view(used.name);
        if (!limit_in(name).empty() && !is_defined(core, name) &&
            check_named(cf, main, used.name) != NGX_OK) {
            return NGX_ERROR;
        }
    }
    return NGX_OK;
}

}  // namespace rate_limit
