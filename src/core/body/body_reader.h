#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/body/body_kind.h"
#include "core/body/document_reader.h"
#include "core/body/event_reader.h"
#include "core/body/form_reader.h"

namespace rate_limit {

/// Finds the values that are wanted in a body that comes in pieces cut anywhere. It takes the same memory
/// whatever the body says, and each value is there as soon as it has been read.
class BodyReader {
public:
    /// `values`: one for each field. Both must outlive this.
    BodyReader(const BodyFields& fields, BodyKind kind, BodyValue* values) noexcept
        : kind_(kind), document_(fields, values), events_(document_), form_(fields, values) {}
    BodyReader(const BodyReader&) = delete;
    BodyReader& operator=(const BodyReader&) = delete;

    void read(std::string_view piece) noexcept;

    /// The body is whole.
    void end() noexcept;

    /// Whether what was read is a body of its kind, and whole: of JSON. Asked after end().
    bool good() const noexcept { return kind_ != BodyKind::json || document_.whole(); }

private:
    std::string_view read_mark(std::string_view piece) noexcept;
    void read_kind(std::string_view piece) noexcept;
    void read_lines(std::string_view piece) noexcept;

    const BodyKind kind_;
    bool in_mark_ = true;     // of the order of bytes, which may stand at the beginning
    std::size_t marked_ = 0;  // how many bytes of it have come
    DocumentReader document_;
    EventReader events_;
    FormReader form_;
};

}  // namespace rate_limit
