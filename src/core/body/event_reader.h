#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/body/document_reader.h"

namespace rate_limit {

/// Reads a stream of events (text/event-stream) in pieces cut anywhere: what the data lines of each event say
/// is a document. Comments and other fields are passed over.
class EventReader {
public:
    /// `document` must outlive this.
    explicit EventReader(DocumentReader& document) noexcept : document_(document) {}

    void read(std::string_view piece) noexcept;

private:
    enum class State : std::uint8_t {
        begin,     // of a line
        after_cr,  // likewise, and an LF belongs to the end of the line before
        name,      // of a field
        space,     // behind the colon of data, perhaps one space
        data,
        other,  // a line that says nothing
    };

    void take(char c) noexcept;
    void end_line(char c) noexcept;

    DocumentReader& document_;
    State state_ = State::begin;
    std::size_t matched_ = 0;  // how many bytes of the field's name are those of "data"
};

}  // namespace rate_limit
