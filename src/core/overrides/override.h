#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/limit/window.h"

namespace rate_limit {

/// The word of operators about a limit, or about one of its keys, until a time comes.
enum class OverrideKind : std::uint8_t {
    none,     ///< no override
    ban,      ///< the limit of one key is 0
    allow,    ///< the limit does not apply to one key
    enforce,  ///< a part of the limit's keys are enforced, the others are in a dry run
    off,      ///< the limit applies to nobody
};

/// Those that there are.
constexpr std::array<OverrideKind, 4> override_kinds = {OverrideKind::ban, OverrideKind::allow,
                                                        OverrideKind::enforce, OverrideKind::off};

/// The kind's name in `$rate_limit_override`; empty for OverrideKind::none.
std::string_view to_string(OverrideKind kind) noexcept;

/// The kind of that name, or none.
OverrideKind override_kind(std::string_view name) noexcept;

/// Whether such an override is of one key.
constexpr bool is_of_key(OverrideKind kind) noexcept {
    return kind == OverrideKind::ban || kind == OverrideKind::allow;
}

enum class OverrideScope : std::uint8_t {
    machine,
    shared,  ///< on all machines of the store
};

std::string_view to_string(OverrideScope scope) noexcept;

/// The limit or the key that an override is of.
struct OverrideSubject {
    std::uint64_t limit = 0;  ///< a digest of the names of store and limit; 2 or more
    std::uint64_t key = 0;    ///< the id of the key at the limit; 0: the limit itself

    friend bool operator==(const OverrideSubject& a, const OverrideSubject& b) noexcept {
        return a.limit == b.limit && a.key == b.key;
    }
};

/// For the standard library's maps: both are digests already.
struct HashOfSubject {
    std::size_t operator()(const OverrideSubject& subject) const noexcept {
        return static_cast<std::size_t>(subject.limit ^ subject.key);
    }
};

struct Override {
    static constexpr std::size_t most_by = 48;    ///< bytes of `by` that are kept
    static constexpr std::size_t most_key = 128;  ///< bytes of `text` that are kept

    OverrideSubject subject;
    std::uint64_t store = 0;  ///< a digest of the store's name
    OverrideKind kind = OverrideKind::none;
    OverrideScope scope = OverrideScope::machine;
    std::uint8_t percent = 0;  ///< the keys that OverrideKind::enforce enforces, 0 to 100
    Millis from = 0;
    Millis until = 0;  ///< when it ends
    std::string by;    ///< the client that made it
    std::string text;  ///< the key's; empty: not kept
    bool cut = false;  ///< `text` is only the beginning
};

}  // namespace rate_limit
