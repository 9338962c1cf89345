#pragma once

#include <algorithm>
#include <string_view>

#include "core/value_text.h"
#include "ngx/values/value.h"

namespace rate_limit {

// Names of variables, which nginx reads without regard to case.

inline bool begins_with(std::string_view name, std::string_view prefix) noexcept {
    return name.size() > prefix.size() && equal_in_any_case(name.substr(0, prefix.size()), prefix);
}

/// Whether the name is in the list. One that ends in '_' stands for all names that begin with it.
template <typename Names>
bool is_one_of(std::string_view name, const Names& names) noexcept {
    return std::any_of(std::begin(names), std::end(names), [name](std::string_view known) {
        return known.back() == '_' ? begins_with(name, known) : equal_in_any_case(name, known);
    });
}

/// The first variable in the value for which `wanted` returns true; empty if there is none.
template <typename Wanted>
std::string_view find_variable(const Value& value, Wanted wanted) noexcept {
    for (ValueText text(view(value.text)); !text.at_end();) {
        const ValuePart part = text.next();
        if (part.kind == ValuePart::Kind::variable && wanted(part.text)) {
            return part.text;
        }
    }
    return {};
}

/// Whether the variable has no value yet when limits are checked, in either phase.
bool is_of_response(std::string_view name) noexcept;

/// Whether nginx knows the variable only when the request ends: before that it is a part, or nothing.
bool is_of_end(std::string_view name) noexcept;

/// Whether the variable is empty until something has read the request's body.
bool is_of_body(std::string_view name) noexcept;

/// Whether this module sets the variable when it has checked the limits of the access phase, or later.
bool is_of_decision(std::string_view name) noexcept;

/// Starts of variables of one limit, whose name follows, each with its `_`.
constexpr std::string_view of_a_limit[] = {
    "rate_limit_limit_",       "rate_limit_used_",        "rate_limit_remaining_", "rate_limit_reset_",
    "rate_limit_reset_after_", "rate_limit_retry_after_", "rate_limit_status_",
};

/// The limit's name in such a variable, behind the longest of these starts; empty: it is none.
std::string_view limit_in(std::string_view variable) noexcept;

}  // namespace rate_limit
