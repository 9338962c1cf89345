#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/limit/window.h"
#include "core/text/kept_text.h"

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

/// Plain data, which may lie in memory that processes share. All zero bytes are no override.
struct Override {
    OverrideSubject subject;
    std::uint64_t store = 0;  ///< a digest of the store's name
    Millis from = 0;
    Millis until = 0;  ///< when it ends
    OverrideKind kind = OverrideKind::none;
    OverrideScope scope = OverrideScope::machine;
    std::uint8_t percent = 0;  ///< the keys that OverrideKind::enforce enforces, 0 to 100
    bool digested = false;     ///< `text` is a digest of the key
    KeptText<46> by;           ///< the client that made it
    KeptText<128> text;        ///< the key's; empty: not kept
    KeptText<128> reason;      ///< why, in the operator's words; bytes from anywhere
};

/// The subject of an override as machines tell one another of it.
struct SharedSubject {
    std::string_view limit{};  ///< its name
    std::string_view key{};    ///< the client's, as it reaches Redis; empty: the override is of the limit
    bool digested = false;     ///< `key` is a digest
};

enum class SharedError : std::uint8_t {
    none,
    too_large,
    other_version,  ///< another version of this module has written it
    garbage,
};

/// Text for a log line.
const char* describe(SharedError error) noexcept;

/// The name of the field that an override has in the hash that machines share: `LIMIT/`, `LIMIT/:KEY` or
/// `LIMIT/#DIGEST`. Throws std::bad_alloc.
std::string write_field(const SharedSubject& subject);

/// The text of that field: `1 KIND PERCENT FROM UNTIL BY REASON`, without the reason and its space where
/// there is none; 1 is the version of this form. Machines that know no reason take it for the end of BY.
/// Throws std::bad_alloc.
std::string write_value(const Override& what);

/// Reads such a field: `subject`, which points into it, and what is not a digest in `what`, whose `text` is
/// the key as it reaches Redis. Throws std::bad_alloc.
SharedError read_shared(std::string_view field, std::string_view value, SharedSubject& subject,
                        Override& what);

}  // namespace rate_limit
