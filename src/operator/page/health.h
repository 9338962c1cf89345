#pragma once

#include <string>
#include <vector>

#include "core/text/html_text.h"
#include "operator/figures/all_figures.h"

namespace rate_limit {

/// Something that operators should know, in words: UTF-8.
struct Finding {
    std::string what;  ///< a sentence without its end, its first letter small
    std::string more;  ///< sentences; perhaps none
};

/// Whether all is well.
struct Health {
    std::string line;            ///< a sentence: what is wrong, or that nothing is
    std::vector<Finding> wrong;  ///< all of it, the worst first
    std::vector<Finding> notes;  ///< findings that an operator wants, but not for ever
};

// Both throw std::bad_alloc.
Health health_of(const AllFigures& found);
void write_health(HtmlText& html, const Health& health);

}  // namespace rate_limit
