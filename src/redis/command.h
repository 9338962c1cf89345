#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/limit/window.h"
#include "redis/script.h"

namespace rate_limit {

/// Encodes one Redis command at a time as a RESP array, into a buffer that is reused: no allocation once it
/// has grown. The text stays valid until the next call.
class CommandWriter {
public:
    std::string_view ping();
    std::string_view auth(std::string_view username,
                          std::string_view password);  ///< empty username: password only
    std::string_view select(std::int64_t database);
    std::string_view info_memory();
    std::string_view load(const Script& script);  ///< SCRIPT LOAD

    /// HMGET key used reset
    std::string_view check(std::string_view key);

    /// HINCRBY key used cost: only into a window known to be open.
    std::string_view increment(std::string_view key, std::int64_t cost);

    /// lua/charge.lua; by digest, or with its text (`with_text`) after NOSCRIPT.
    /// `proposed`: the reset of the window that opens if none is; `latest`: latest_reset() of the period at
    /// `now`.
    std::string_view charge(std::string_view key, std::int64_t cost, Millis now, Millis proposed,
                            Millis latest, bool with_text = false);

    /// lua/repair.lua, in the same way.
    std::string_view repair(std::string_view key, Millis now, Millis proposed, Millis latest,
                            bool with_text = false);

    /// lua/reserve.lua, in the same way: `want` of what `limit` leaves, or less, but not less than `least`;
    /// at most one of so many parts of it.
    std::string_view reserve(std::string_view key, std::int64_t limit, std::int64_t want, std::int64_t least,
                             Millis now, Millis proposed, Millis latest, bool with_text = false,
                             std::int64_t parts = 1);

    /// lua/refund.lua, in the same way: only to the window whose end is `reset`.
    std::string_view refund(std::string_view key, std::int64_t cost, Millis reset, bool with_text = false);

private:
    void begin(std::size_t words);
    void word(std::string_view text);
    void word(std::int64_t number);
    void call(ScriptName name, bool with_text, std::string_view key, std::size_t arguments);

    char* room(std::size_t size);
    void advance(const char* end) noexcept;
    std::string_view text() const noexcept { return {buffer_.data(), length_}; }

    std::string buffer_;  // grows, never shrinks; `length_` bytes of it are the command
    std::size_t length_ = 0;
};

}  // namespace rate_limit
