#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "t/world/chance.h"
#include "t/world/configured.h"
#include "t/world/events.h"

namespace rate_limit::world {

/// What may befall a world. Each world has a random part of them, so that some worlds see one fault alone.
enum class FaultKind : unsigned char {
    reset,    ///< a connection to a server ends between two bytes
    slow,     ///< a link takes up to a second each way, for a while
    silent,   ///< nothing arrives on a link, and nobody is told, for a while
    refused,  ///< nobody may connect, for a while
    pause,    ///< a server does not run, for a while
    restart,  ///< a server dies, and comes back with its data
    flush,    ///< SCRIPT FLUSH
    loading,  ///< a server answers LOADING, for a while
    oom,      ///< a server takes no writes: OOM, for a while
    leave,    ///< a worker leaves, and another one takes its place
};
constexpr std::size_t fault_kinds = static_cast<std::size_t>(FaultKind::leave) + 1;

const char* name_of(FaultKind kind) noexcept;

/// One fault, and when it begins and ends.
struct Fault {
    FaultKind kind;
    Micros at;
    Micros life;         ///< 0: it is over at once
    std::size_t server;  ///< or the machine, of a worker's
    std::uint64_t bits;  ///< what else there is to choose
};

/// All that is random about one world, drawn from its seed before it begins.
struct Plan {
    explicit Plan(std::uint64_t seed);

    Setup setup;
    std::size_t machines = 1;
    std::size_t workers = 1;    ///< of each machine
    std::vector<Micros> ahead;  ///< how far the clock of each server is ahead of UTC
    Micros lasts = 0;           ///< requests and faults come until then; it heals afterwards
    Micros pause = 0;           ///< between two requests, on the average
    Micros longest = 0;         ///< of requests
    std::int64_t keys = 1;
    std::int64_t most_cost = 1;
    int aborted = 0;  ///< of a hundred requests
    int exempt = 0;   ///< the same
    std::vector<Fault> faults;
};

/// `10.0.0.1:6379` for 0, and so on.
std::string address_of_server(std::size_t number);

}  // namespace rate_limit::world
