#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rate_limit {

/// The fields of a form as browsers and curl post it: application/x-www-form-urlencoded. Values may hold any
/// byte.
class Form {
public:
    enum class Error : unsigned char {
        none,
        escape,  ///< a percent sign without two hex digits after it
        twice,   ///< two fields of one name
        many,    ///< more than most_fields
    };

    /// Acts have a few.
    static constexpr std::size_t most_fields = 32;

    /// Takes the fields of the body in place of its own. After an error it has none. Throws std::bad_alloc.
    Error parse(std::string_view body);

    /// The value of a field, valid as long as the form is; null: there is no such field, or it is empty.
    const std::string* find(std::string_view name) const noexcept;

    /// The value as a text, empty where find() has none.
    std::string_view value(std::string_view name) const noexcept {
        const std::string* found = find(name);
        return found != nullptr ? std::string_view(*found) : std::string_view();
    }

    /// In their order; names are those that were sent.
    const std::vector<std::pair<std::string, std::string>>& fields() const noexcept { return fields_; }

private:
    Error add(std::string_view field);

    std::vector<std::pair<std::string, std::string>> fields_;
};

/// A key as JSON and pages show it, read back: %XX is a byte. A percent sign without two hex digits after it
/// stands for itself. Throws std::bad_alloc.
std::string shown_key(std::string_view text);

}  // namespace rate_limit
