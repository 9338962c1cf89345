#include "t/worlds/servers.h"

namespace rate_limit::world {

Servers::Servers(Events& events, Network& network, const ServerPlan& plan) {
    for (std::size_t i = 0; i < plan.ahead.size(); ++i) {
        servers_.push_back(std::make_unique<Redis>(events, network, address_of_server(i), plan.ahead[i]));
    }
}

void Servers::begin(const Fault<ServerFault>& fault) {
    Redis& server = *servers_[fault.where];
    switch (fault.kind) {
        case ServerFault::reset:
            server.reset_connections();
            break;
        case ServerFault::slow:
            server.link().there += static_cast<Micros>(fault.bits % 1'000'000);
            server.link().back += static_cast<Micros>(fault.bits / 1'000'000 % 1'000'000);
            break;
        case ServerFault::silent:
            server.link().silent = true;
            break;
        case ServerFault::refused:
            server.link().refuses = true;
            break;
        case ServerFault::pause:
            server.pause();
            break;
        case ServerFault::restart:
            server.kill(true);
            break;
        case ServerFault::flush:
            server.server().forget_scripts();
            break;
        case ServerFault::loading:
            server.server().state.loading = true;
            break;
        case ServerFault::oom:
            server.server().state.out_of_memory = true;
            break;
    }
}

/// All that is wrong with the server is over, also what another fault has done: so nothing lasts for ever.
void Servers::end(const Fault<ServerFault>& fault) {
    Redis& server = *servers_[fault.where];
    server.link() = Link{};
    server.server().state.loading = false;
    server.server().state.out_of_memory = false;
    server.start();
    server.resume();
}

std::int64_t Servers::used(const std::string& key) {
    std::int64_t sum = 0;
    for (const auto& server : servers_) {
        sum += server->used(key);
    }
    return sum;
}

}  // namespace rate_limit::world
