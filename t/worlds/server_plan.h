#pragma once

#include <string>
#include <vector>

#include "t/world/configured.h"
#include "t/worlds/fault.h"

namespace rate_limit::world {

/// What may befall the servers of a world and the links to them.
enum class ServerFault : unsigned char {
    reset,    ///< a connection to a server ends between two bytes
    slow,     ///< a link takes up to a second each way, for a while
    silent,   ///< nothing arrives on a link, and nobody is told, for a while
    refused,  ///< nobody may connect, for a while
    pause,    ///< a server does not run, for a while
    restart,  ///< a server dies, and comes back with its data
    flush,    ///< SCRIPT FLUSH
    loading,  ///< a server answers LOADING, for a while
    oom,      ///< a server takes no writes: OOM, for a while
};
constexpr std::size_t server_faults = static_cast<std::size_t>(ServerFault::oom) + 1;

const char* name_of(ServerFault kind) noexcept;

/// The servers of a world, what each machine is told of them, and what befalls them.
struct ServerPlan {
    /// `lasts`: faults come until then.
    ServerPlan(Chance chance, Micros lasts);

    std::vector<StoreSetup> stores;
    std::vector<Micros> ahead;  ///< how far the clock of each server is ahead of UTC
    std::vector<Fault<ServerFault>> faults;
};

/// `10.0.0.1:6379` for 0, and so on.
std::string address_of_server(std::size_t number);

}  // namespace rate_limit::world
