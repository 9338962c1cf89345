#pragma once

#include <cstdint>
#include <string_view>

namespace rate_limit {

/// How the values lie in a body.
enum class BodyKind : std::uint8_t {
    unknown,  ///< nothing is read
    json,     ///< one document
    events,   ///< text/event-stream: the data of each event is a document
    lines,    ///< application/x-ndjson: each line is a document
    form,     ///< application/x-www-form-urlencoded
};

/// By the value of a Content-Type field, with parameters or without.
BodyKind body_kind(std::string_view content_type) noexcept;

}  // namespace rate_limit
