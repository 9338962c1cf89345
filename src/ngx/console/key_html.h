#pragma once

#include <string>

#include "core/text/form.h"
#include "ngx/acts/act_result.h"
#include "ngx/conf/conf.h"

namespace rate_limit {

// The page `key` as HTML. Both throw std::bad_alloc.

/// The form, by which an operator looks up a key.
std::string write_key_form(const MainConf& main);

/// The same with what was posted, and what that came to.
std::string write_act_html(const MainConf& main, const Form& form, const ActResult& result);

}  // namespace rate_limit
