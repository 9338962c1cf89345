#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/limit/bucket.h"
#include "core/limit/window.h"
#include "t/world/server.h"

namespace rate_limit::simulated {

using Key = std::uint32_t;

enum class Command : unsigned char {
    check,      ///< HMGET key used reset
    increment,  ///< HINCRBY key used
    charge,     ///< from here on scripts
    repair,
    refund,
    reserve,
};
constexpr std::size_t command_count = static_cast<std::size_t>(Command::reserve) + 1;

/// A command about a client's window.
struct Called {
    Command command = Command::check;
    Key key = 0;
    Nanos cost = 0;  ///< nanoseconds of the server's processor, pipelined: docs/benchmarks.md has them
};

/// Empty: it is about something else, such as how the server is.
std::optional<Called> read_call(const world::ServerCommand& command, world::Words words);

/// The client's window as the server has it stored; {0, 0}: it has none, or that does not say when it ends.
Window stored_window(world::Server& server, const world::ServerCommand& command, world::Words words);

}  // namespace rate_limit::simulated
