#pragma once

#include <cstring>
#include <string_view>

namespace rate_limit {

/// Finds the ends of lines in one piece of a text: each byte is looked at twice at most, however many lines
/// there are.
class LineEnds {
public:
    explicit LineEnds(std::string_view piece) noexcept
        : end_(piece.data() + piece.size()), feed_(piece.data()), return_(piece.data()) {
        seek(feed_, piece.data(), '\n');
        seek(return_, piece.data(), '\r');
    }

    /// The first CR or LF from here on; the end of the piece, where there is none. Not to be called for a
    /// place before that of the last call.
    const char* next(const char* at) noexcept {
        if (feed_ < at) {
            seek(feed_, at, '\n');
        }
        if (return_ < at) {
            seek(return_, at, '\r');
        }
        return feed_ < return_ ? feed_ : return_;
    }

private:
    void seek(const char*& found, const char* from, char byte) const noexcept {
        const void* place =
            from == end_ ? nullptr : std::memchr(from, byte, static_cast<std::size_t>(end_ - from));
        found = place != nullptr ? static_cast<const char*>(place) : end_;
    }

    const char* const end_;
    const char* feed_;    // the next LF
    const char* return_;  // the next CR
};

}  // namespace rate_limit
