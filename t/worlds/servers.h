#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "t/world/redis.h"
#include "t/worlds/server_plan.h"

namespace rate_limit::world {

/// The servers of one world, as its plan has them.
class Servers {
public:
    /// `plan` outlives it.
    Servers(Events& events, Network& network, const ServerPlan& plan);

    void begin(const Fault<ServerFault>& fault);
    void end(const Fault<ServerFault>& fault);

    /// What all primaries together have stored as used under this key.
    std::int64_t used(const std::string& key);

private:
    std::vector<std::unique_ptr<Redis>> servers_;
};

}  // namespace rate_limit::world
