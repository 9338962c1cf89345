#pragma once

#include <cstdint>
#include <string_view>

#include "ngx/base/ngx.h"

namespace rate_limit {

/// The id of a client as it is shown: 16 hex digits.
class IdText {
public:
    explicit IdText(std::uint64_t id) noexcept { ngx_sprintf(text_, "%016xL", id); }

    std::string_view view() const noexcept { return {reinterpret_cast<const char*>(text_), sizeof text_}; }

private:
    u_char text_[2 * sizeof(std::uint64_t)];
};

}  // namespace rate_limit
