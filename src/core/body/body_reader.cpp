#include "core/body/body_reader.h"

namespace rate_limit {

namespace {

constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

}  // namespace

void BodyReader::read(std::string_view piece) noexcept {
    read_kind(in_mark_ ? read_mark(piece) : piece);
}

/// The mark of the order of bytes is no part of the body. Returns what is behind it; what only begins like it
/// is read.
std::string_view BodyReader::read_mark(std::string_view piece) noexcept {
    for (; !piece.empty() && marked_ < byte_order_mark.size() && piece.front() == byte_order_mark[marked_];
         ++marked_) {
        piece.remove_prefix(1);
    }
    if (piece.empty() && marked_ < byte_order_mark.size()) {
        return piece;  // the next piece tells
    }
    in_mark_ = false;
    if (marked_ < byte_order_mark.size()) {
        read_kind(byte_order_mark.substr(0, marked_));
    }
    return piece;
}

void BodyReader::read_kind(std::string_view piece) noexcept {
    switch (kind_) {
        case BodyKind::unknown:
            return;
        case BodyKind::json:
            document_.read(piece);
            return;
        case BodyKind::events:
            events_.read(piece);
            return;
        case BodyKind::lines:
            read_lines(piece);
            return;
        case BodyKind::form:
            form_.read(piece);
            return;
    }
}

void BodyReader::read_lines(std::string_view piece) noexcept {
    for (;;) {
        const std::size_t end = piece.find('\n');
        document_.read(piece.substr(0, end));
        if (end == std::string_view::npos) {
            return;
        }
        document_.begin();
        piece.remove_prefix(end + 1);
    }
}

void BodyReader::end() noexcept {
    if (kind_ == BodyKind::form) {
        form_.end();
    }
}

}  // namespace rate_limit
