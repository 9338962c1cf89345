#pragma once

#include <exception>
#include <string>

namespace rate_limit::world {

/// The words of the exception by which the call refuses what it is given; "" where it does not.
template <typename Call>
std::string refusal(Call&& call) {
    try {
        call();
    } catch (const std::exception& wrong) {
        return wrong.what();
    }
    return "";
}

}  // namespace rate_limit::world
