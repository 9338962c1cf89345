#pragma once

#include <cstdint>
#include <string_view>

#include "core/body/kept_bytes.h"

namespace rate_limit {

/// Reads one string of JSON, behind its opening quote, in pieces cut anywhere. Escapes become the characters
/// that they stand for, in UTF-8; half a pair becomes U+FFFD. Other bytes stay as they are.
class StringReader {
public:
    void begin(bool wanted) noexcept {
        kept_.begin(wanted);
        state_ = State::plain;
        high_ = 0;
        text_ = {};
    }

    /// Reads up to behind the closing quote, or to the end of the piece. Returns where it stopped.
    const char* read(const char* at, const char* end) noexcept;

    bool ended() const noexcept { return state_ == State::ended; }
    bool bad() const noexcept { return state_ == State::bad; }

    /// Whether a string that has ended was wanted, and is not too long to be a value.
    bool kept() const noexcept { return kept_.wanted(); }

    /// The text of one that is kept, while the piece is there with which it ended.
    std::string_view text() const noexcept { return text_; }

private:
    enum class State : std::uint8_t { plain, escape, digits, ended, bad };

    const char* read_plain(const char* at, const char* end) noexcept;
    void take_escape(char c) noexcept;
    void take_digit(char c) noexcept;
    void take_unit() noexcept;
    void append(std::uint32_t character) noexcept;
    void end_half() noexcept;
    void end(const char* from, const char* quote) noexcept;

    KeptBytes kept_;
    State state_ = State::plain;
    unsigned digits_ = 0;     // of the escape at hand, read so far
    std::uint32_t unit_ = 0;  // their number
    std::uint32_t high_ = 0;  // the first half of a pair, whose second may come; 0: none
    std::string_view text_;
};

}  // namespace rate_limit
