#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "bench/simulate/server/text.h"
#include "core/limit/window.h"

namespace rate_limit::simulated {

struct Field {
    std::string name;
    Text text;
};

/// A hash. The fields that windows have stand in it, all others in a list.
class Hash {
public:
    Hash() = default;
    Hash(const Hash& other);
    Hash(Hash&&) noexcept = default;
    Hash& operator=(const Hash& other);
    Hash& operator=(Hash&&) noexcept = default;
    ~Hash() = default;

    /// Empty where there is none.
    const Text& find(std::string_view name) const noexcept;

    void set(std::string_view name, Text text);
    void erase(std::string_view name) noexcept;
    std::size_t size() const noexcept;

    /// All but used and reset, in any order.
    const std::vector<Field>& others() const noexcept;

    Text used;
    Text reset;

private:
    std::unique_ptr<std::vector<Field>> others_;
};

/// A string of 24 bytes as lua/bucket.lua reads it: three big-endian numbers.
struct BucketBytes {
    std::uint64_t full_at = 0;
    std::uint64_t longest = 0;
    std::uint64_t returned = 0;

    bool operator==(const BucketBytes& other) const noexcept;
};

/// The value of a key. A string of 24 bytes is always BucketBytes.
struct Value {
    static constexpr Millis never = 0;

    Millis expires = never;  ///< by the server's clock: the last millisecond in which the key is there
    std::variant<std::monostate, Hash, BucketBytes, std::string> content;  ///< monostate: no key

    bool there() const noexcept { return content.index() != 0; }
};

std::string bytes_of(const BucketBytes& bucket);

/// The first 64 bits of a string, big-endian, with zeros where it is shorter or there is none; and sets
/// these, which makes it so long.
std::uint64_t first_word(const Value& value) noexcept;
void set_first_word(Value& value, std::uint64_t word);

/// Sets `value` to this string; its expiry stays.
void set_bytes(Value& value, std::string_view bytes);

}  // namespace rate_limit::simulated
