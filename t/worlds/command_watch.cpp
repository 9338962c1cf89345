#include "t/worlds/command_watch.h"

#include "t/world/server_command.h"

namespace rate_limit::world {

void CommandWatch::watch(Server& server, const std::string& address) {
    if (log_.is_kept()) {
        addresses_[&server] = address;
        server.observe(this);
    }
}

void CommandWatch::on_command(Server& server, const ServerCommand& /*command*/, Words words) {
    std::string text;
    for (const std::string_view word : words) {
        text.append(1, ' ').append(word.substr(0, 60));
    }
    log_.add(addresses_[&server], "is asked:" + text);
}

}  // namespace rate_limit::world
