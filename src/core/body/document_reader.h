#pragma once

#include <cstdint>
#include <string_view>

#include "core/body/body_position.h"
#include "core/body/kept_bytes.h"
#include "core/body/number_reader.h"
#include "core/body/string_reader.h"

namespace rate_limit {

/// Reads a document of JSON in pieces cut anywhere, and puts the values that are wanted where they belong as
/// soon as they are read. Takes the same memory whatever the document says. Behind a mistake, and behind an
/// object or array that lies too deep, it reads no more of the document.
class DocumentReader {
public:
    /// `values`: one for each field. Both must outlive this.
    DocumentReader(const BodyFields& fields, BodyValue* values) noexcept
        : fields_(fields), values_(values), position_(fields) {}

    /// Another document begins.
    void begin() noexcept {
        position_.begin();
        state_ = State::value;
    }

    void read(std::string_view piece) noexcept;

    /// Whether all that was read is one document, and whole.
    bool whole() const noexcept {
        return state_ == State::end || (state_ == State::number && position_.at_root() && number_.whole());
    }

private:
    enum class State : std::uint8_t {
        value,          // one comes
        first_element,  // or the end of the array
        first_name,     // or the end of the object
        name,
        colon,
        comma,       // or the end of the object or array
        name_text,   // in a name
        value_text,  // in a text
        number,      // in a number
        word,        // in true, false or null
        end,         // of the document: nothing but white space may follow
        nothing,     // is read any more
    };

    void take(char c) noexcept;
    void take_value(char c) noexcept;
    void take_comma(char c) noexcept;
    void take_string() noexcept;
    void open(bool object) noexcept;
    void close(bool object) noexcept;
    void begin_word(std::string_view rest) noexcept;
    const char* read_string(const char* at, const char* end) noexcept;
    const char* read_number(const char* at, const char* end) noexcept;
    const char* read_word(const char* at, const char* end) noexcept;
    void end_value() noexcept { state_ = position_.at_root() ? State::end : State::comma; }

    const BodyFields& fields_;
    BodyValue* const values_;
    BodyPosition position_;
    State state_ = State::value;
    StringReader string_;
    NumberReader number_;
    KeptBytes digits_;
    std::string_view word_;  // what is left of it; of static text
};

}  // namespace rate_limit
