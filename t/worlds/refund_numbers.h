#pragma once

#include <set>
#include <string>
#include <tuple>

#include "t/world/server.h"

namespace rate_limit::world {

/// Sees that no numbered refund is lost to a higher number of its worker that has come to the window before
/// it: lua/refund.lua takes it for one that is back already.
class RefundNumbers {
public:
    /// The server has run this command, or refused it. True if it is a refund that counts for nothing, and
    /// that no server has ever given back.
    bool is_overtaken(Server& server, Words words);

private:
    std::set<std::tuple<std::string, std::string, std::string>> given_back_;  // key, worker and number
};

}  // namespace rate_limit::world
