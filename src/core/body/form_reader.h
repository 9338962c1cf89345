#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/body/body_fields.h"
#include "core/body/kept_bytes.h"

namespace rate_limit {

/// Reads a form as browsers and curl post it (application/x-www-form-urlencoded), in pieces cut anywhere. A
/// path is, whole, the name of a field. A percent sign without two hex digits after it stands for itself.
class FormReader {
public:
    /// `values`: one for each field that is wanted. Both must outlive this.
    FormReader(const BodyFields& fields, BodyValue* values) noexcept
        : fields_(fields), values_(values), named_(fields.all()) {}

    void read(std::string_view piece) noexcept;

    /// The form has ended: so has its last field.
    void end() noexcept { take('&'); }

private:
    void take(char c) noexcept;
    void take_byte(char c) noexcept;
    void take_escaped(char c) noexcept;
    void give_escape_up() noexcept;
    void end_field() noexcept;

    const BodyFields& fields_;
    BodyValue* const values_;
    BodyFields::Set named_;   // the paths whose text begins as the name does; of a value, those that are it
    std::size_t length_ = 0;  // of the name, so far
    bool in_value_ = false;
    std::size_t escaped_ = 0;  // bytes of an escape at hand: 1 of the percent sign, 2 with its first digit
    char digit_ = 0;           // that first digit
    KeptBytes value_;
};

}  // namespace rate_limit
