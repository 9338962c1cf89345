#pragma once

#include <memory>
#include <string>

#include "core/text/form.h"
#include "limiter/configuration.h"
#include "operator/acts/act_result.h"
#include "operator/html/frame.h"

namespace rate_limit {

// The page `key` as HTML. Both throw std::bad_alloc.

/// The form, by which an operator looks up a key.
std::string write_key_form(const Configuration& main, const PageView& view);

/// The form, with the result of what was posted and a form for each act that may follow; where there are
/// several limits, with a form for each one that leads to its acts. The key is in hidden fields of these; it
/// is shown only where the console shows keys. Each limit is a piece. The form and the result outlive it.
std::unique_ptr<Document> tell_act_html(const Configuration& main, PageView view, const Form& form,
                                        const ActResult& result);

}  // namespace rate_limit
