#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

namespace rate_limit::simulated {

/// The content of a field of a hash. A number that HINCRBY could count on from (decimal, 64 bits, as it would
/// print it) is kept as such, any other text as it came.
class Text {
public:
    Text() noexcept = default;  ///< no such field
    explicit Text(std::int64_t number) noexcept : content_(number) {}
    explicit Text(std::string_view text);

    Text(const Text& other);
    Text(Text&& other) noexcept;
    Text& operator=(const Text& other);
    Text& operator=(Text&& other) noexcept;
    ~Text() = default;

    explicit operator bool() const noexcept { return content_.index() != absent; }

    /// Null where the text is no such number.
    const std::int64_t* number() const noexcept { return std::get_if<std::int64_t>(&content_); }

    /// The text where it is no number, with a zero byte behind it; of a number, or of none, data() is null.
    std::string_view other() const noexcept;

    /// How Redis gives it back; empty where there is none.
    std::string text() const;

    bool operator==(const Text& other) const noexcept;
    bool operator!=(const Text& other) const noexcept { return !(*this == other); }

private:
    static constexpr std::size_t absent = 0;

    using Length = std::uint32_t;

    void set_other(std::string_view text);

    // The length stands before the text.
    std::variant<std::monostate, std::int64_t, std::unique_ptr<char[]>> content_;
};

/// The integer that Redis makes of a number that a script returns: the digits behind the point are cut off,
/// and one without room in 64 bits is the least one, as x86 has it.
std::int64_t lua_integer(double number) noexcept;

/// string.format('%.0f', number), as a field holds it.
Text lua_digits(double number);

/// The number that the digits at the start of the text make; NaN where there are none.
double leading_digits(const Text& text);

/// The number of a text of digits alone, else NaN.
double all_digits(const Text& text);

/// Three numbers, of decimal digits alone, with one blank between.
struct Triple {
    std::string_view first, second, third;
};

/// False for any other text. What it reads is valid as long as the text is.
bool read_triple(const Text& text, Triple& triple) noexcept;

/// The text of three numbers that are not negative, as read_triple() reads it.
Text triple(std::int64_t first, std::int64_t second, std::int64_t third);

/// `digits` are decimal.
double number_of(std::string_view digits);

/// The number, if the scripts count on from this text: 0 or decimal digits without a zero before them, at
/// most 15. -1: they do not.
std::int64_t whole(const Text& text) noexcept;

}  // namespace rate_limit::simulated
