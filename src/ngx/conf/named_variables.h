#pragma once

#include <string_view>

#include "ngx/base/ngx.h"

namespace rate_limit {

struct MainConf;

/// Looks at the variables by limits' names that the configuration uses: warns of a name that no limit has,
/// and refuses one that two names of limits come out as. Runs when all of http is read. NGX_ERROR where there
/// are some; the error is logged.
ngx_int_t check_named_variables(ngx_conf_t* cf, const MainConf& main) noexcept;

}  // namespace rate_limit
