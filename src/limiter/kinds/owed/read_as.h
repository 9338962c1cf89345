#pragma once

#include <string_view>

#include "core/limit/bucket.h"
#include "core/limit/window.h"

namespace rate_limit {

class CommandWriter;
struct Hold;

/// A key in Redis is read as this.
struct ReadAs {
    enum class From : unsigned char {
        any_node,
        primary,        ///< no other node will do
        still_primary,  ///< nor the primary, if it is no more when it answers
    };

    WindowKind kind = WindowKind::first;  ///< any of a window
    Nanos fill = 0;                       ///< of a bucket: how long it takes to fill; else 0
    bool penalty = false;                 ///< not the window or bucket itself, but its penalty

    /// The nodes that may be asked.
    From nodes() const noexcept;
};

/// Writes the command that reads the key. `question`: to the script of slots.
std::string_view write(CommandWriter& writer, std::string_view key, const ReadAs& as, const Hold& question,
                       bool with_text);

}  // namespace rate_limit
