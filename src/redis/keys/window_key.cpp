#include "redis/keys/window_key.h"

namespace rate_limit {

char* write_window_head(char* out, std::string_view prefix, std::string_view name, std::int64_t period,
                        WindowKind kind) noexcept {
    out = append(append(out, prefix), name);
    *out++ = '/';
    if (kind == WindowKind::month) {
        return append(out, std::string_view("monthc"));
    }
    if (kind == WindowKind::slots) {
        *out++ = 'n';
        return out;
    }
    out = append(out, period);
    if (kind != WindowKind::first) {
        *out++ = kind == WindowKind::clock ? 'c' : 'b';
    }
    return out;
}

}  // namespace rate_limit
