#pragma once

#include <cstdint>
#include <string_view>

namespace rate_limit {

/// One part of a text of the configuration that may hold variables, as nginx reads such texts.
struct ValuePart {
    enum class Kind : std::uint8_t {
        literal,   ///< `text` stands for itself; never empty
        variable,  ///< `$name` or `${name}`: `text` is the name, never empty
        capture,   ///< `$1` to `$9`: `text` is the digit
        nameless,  ///< an error: no name follows the `$`
        unclosed,  ///< an error: `text` is the name of a `${name` without its `}`
    };

    Kind kind;
    std::string_view text;

    bool is_error() const noexcept { return kind == Kind::nameless || kind == Kind::unclosed; }
};

/// Reads the parts of such a text, one after the other. The text must outlive the parts.
class ValueText {
public:
    explicit ValueText(std::string_view text) noexcept : rest_(text) {}

    bool at_end() const noexcept { return rest_.empty(); }

    /// The next part. Not to be called at the end, nor after an error.
    ValuePart next() noexcept;

private:
    std::string_view take(std::size_t length) noexcept {
        const std::string_view taken = rest_.substr(0, length);
        rest_.remove_prefix(taken.size());
        return taken;
    }

    std::string_view rest_;
};

/// Whether the character may stand in the name of a variable.
constexpr bool is_of_name(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

}  // namespace rate_limit
