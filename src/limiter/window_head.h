#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/limit/window.h"

namespace rate_limit {

struct StoreConf;

/// The start of the text that identifies a window on this machine: `STORE NUL` and what write_window_head()
/// writes. `store` is null for `local`.
std::size_t head_room(const StoreConf* store, std::string_view limit) noexcept;
char* write_head(char* out, const StoreConf* store, std::string_view limit, std::int64_t period,
                 WindowKind kind) noexcept;

}  // namespace rate_limit
