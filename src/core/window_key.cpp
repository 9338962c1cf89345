#include "core/window_key.h"

#include <charconv>
#include <cstring>

namespace rate_limit {
namespace {

char* append(char* out, std::string_view text) noexcept {
    if (!text.empty()) {
        std::memcpy(out, text.data(), text.size());
    }
    return out + text.size();
}

}  // namespace

char* write_window_key(char* out, std::string_view prefix, std::string_view name, std::int64_t period,
                       WindowKind kind, std::string_view key, bool digested) noexcept {
    out = append(append(out, prefix), name);
    *out++ = '/';
    // Any 64-bit number is at most 20 characters long.
    out = std::to_chars(out, out + 20, period).ptr;
    if (kind == WindowKind::clock) {
        *out++ = 'c';
    }
    *out++ = digested ? '#' : ':';
    return append(out, key);
}

}  // namespace rate_limit
