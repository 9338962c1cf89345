#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "t/world/network.h"
#include "t/worlds/server_plan.h"

namespace rate_limit::world {

/// The hosts of a world's servers, each of which has a name and two addresses. A server is found at one of
/// them.
class Hosts {
public:
    /// `network` outlives it.
    Hosts(Network& network, std::size_t count) : network_(network), moved_(count) {
        for (std::size_t i = 0; i < count; ++i) {
            lead(i);
        }
    }

    /// The server of this number is found at its other address alone, or at its first one again. The name of
    /// its host leads there as soon as lead() is called.
    void move(std::size_t number) {
        moved_[number] = !moved_[number];
        network_.move(address_of_server(number), address(number));
    }
    void lead(std::size_t number) {
        const std::string now = address(number);
        network_.lead(host_of_server(number), now.substr(0, now.rfind(':')));
    }

private:
    std::string address(std::size_t number) const {
        return moved_[number] ? other_address_of_server(number) : address_of_server(number);
    }

    Network& network_;
    std::vector<bool> moved_;
};

}  // namespace rate_limit::world
