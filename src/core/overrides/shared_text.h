#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/overrides/override.h"

namespace rate_limit {

/// An override as machines tell one another of it.
struct SharedOverride {
    OverrideKind kind = OverrideKind::none;
    std::uint8_t percent = 0;
    Millis from = 0;
    Millis until = 0;
    std::string by;
    std::string limit;      ///< its name
    std::string key;        ///< the client's, as it reaches Redis; empty: the override is of the limit
    bool digested = false;  ///< `key` is a digest

    bool same_subject(const SharedOverride& other) const noexcept {
        return limit == other.limit && key == other.key && digested == other.digested;
    }
};

/// A text of more bytes is not taken.
constexpr std::size_t most_shared_text = std::size_t{512} * 1024;

enum class SharedTextError : std::uint8_t {
    none,
    too_large,
    other_version,  ///< another version of this module has written it
    garbage,
};

/// Text for a log line.
const char* describe(SharedTextError error) noexcept;

/// The overrides as text: a line that says the version of the form, then one for each:
/// `kind percent from until by limit key`. `key` begins with `:`, or with `#` where it is a digest, and is
/// `-` where there is none. Bytes other than letters, digits, `.`, `_`, `-` and `:` are %XX. Throws
/// std::bad_alloc.
std::string write_shared_text(const std::vector<SharedOverride>& all);

/// Reads such a text. After an error `all` is empty. Throws std::bad_alloc.
SharedTextError read_shared_text(std::string_view text, std::vector<SharedOverride>& all);

}  // namespace rate_limit
