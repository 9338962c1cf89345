#include "redis/keys/window_key.h"

#include "core/append.h"

namespace rate_limit {

char* write_window_key(char* out, std::string_view prefix, std::string_view name, std::int64_t period,
                       WindowKind kind, std::string_view key, bool digested) noexcept {
    out = append(append(out, prefix), name);
    *out++ = '/';
    out = append(out, period);
    if (kind == WindowKind::clock) {
        *out++ = 'c';
    }
    *out++ = digested ? '#' : ':';
    return append(out, key);
}

}  // namespace rate_limit
