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

/// Neither the name of a limit nor what follows it has a '/', ':' or '#'.
WindowKeyParts parts_of_window_key(std::string_view window_key, std::size_t prefix) noexcept {
    const std::size_t slash = window_key.find('/', prefix);
    const std::size_t mark = window_key.find_first_of(":#", slash);
    if (slash == std::string_view::npos || mark == std::string_view::npos) {
        return {};
    }
    return {window_key.substr(prefix, slash - prefix), window_key.substr(mark + 1)};
}

}  // namespace rate_limit
