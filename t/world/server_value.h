#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "core/limit/window.h"

namespace rate_limit::world {

/// Fields in the order in which they came, which is how Redis keeps a hash that is not large.
class Hash {
public:
    using Field = std::pair<std::string, std::string>;

    /// Null: no such field. Pointers are valid until the next change.
    const std::string* find(std::string_view name) const noexcept;

    /// True if the field is new.
    bool set(std::string_view name, std::string_view text);

    /// False if there was no such field.
    bool erase(std::string_view name);

    std::size_t size() const noexcept { return fields_.size(); }
    const std::vector<Field>& fields() const noexcept { return fields_; }

private:
    std::vector<Field> fields_;
};

using List = std::vector<std::string>;

constexpr Millis never = -1;

struct Value {
    std::variant<std::string, Hash, List> content;
    Millis expires = never;  ///< milliseconds of the epoch; still there in this one
};

/// The keys of one database.
class Keyspace {
public:
    /// Null: no such key. Pointers are valid until the key is erased.
    Value* find(std::string_view key);

    /// Finds the key, or makes one with an empty string.
    Value& make(std::string_view key);

    /// False if there was no such key.
    bool erase(std::string_view key);

    void clear() noexcept;
    std::size_t size() const noexcept { return values_.size(); }

    /// Those that have expired before `now`, in ascending order.
    std::vector<std::string> expired(Millis now) const;

    /// All keys, in ascending order.
    std::vector<std::string> names() const;

private:
    using Values = std::unordered_map<std::string, Value>;

    /// The key that was asked for last, as scripts ask for one again and again. A copy's is its own.
    struct Found {
        Found() = default;
        Found(const Found& /*other*/) noexcept {}
        // NOLINTNEXTLINE(bugprone-unhandled-self-assignment,cert-oop54-cpp): it forgets, whatever it becomes
        Found& operator=(const Found& /*other*/) noexcept {
            entry = nullptr;
            return *this;
        }
        ~Found() = default;

        Values::value_type* entry = nullptr;
    };

    Values values_;
    Found found_;
    std::string wanted_;  // the key that is asked for: kept, so that asking needs no memory
};

}  // namespace rate_limit::world
