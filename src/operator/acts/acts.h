#pragma once

#include <array>
#include <string_view>

namespace rate_limit {

class Acting;

/// An act that an operator can post, or the look-up.
struct Act {
    /// The value of the field `do`; empty: there is none.
    std::string_view name;

    /// Fields that must be there, not empty.
    std::array<std::string_view, 4> required;

    /// Goes on as far as it can, by Acting::step; false: it waits for answers, and is called again when they
    /// are there. True: Acting::result is there. Throws std::bad_alloc.
    bool (*go_on)(Acting& acting);
};

/// The act of this name; null: there is none.
const Act* find_act(std::string_view name) noexcept;

// The acts. A new one is a line in acts.cpp and, if it is more than a few lines, a file.

/// Shows the windows of a key, of one limit or of all. Other acts end with it: what they have changed is
/// shown.
bool look_up(Acting& acting);

/// Gives back all that is used.
bool reset_window(Acting& acting);

/// Gives back a part.
bool give_back_part(Acting& acting);

// Set an override for a while, of the key or of the limit.
bool ban(Acting& acting);
bool allow(Acting& acting);
bool enforce(Acting& acting);
bool switch_off(Acting& acting);

/// Ends the override of the key, or without one that of the limit.
bool clear_override(Acting& acting);

}  // namespace rate_limit
