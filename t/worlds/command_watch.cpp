#include "t/worlds/command_watch.h"

#include "t/world/server_command.h"

namespace rate_limit::world {

void CommandWatch::watch(Server& server, const std::string& address) {
    addresses_[&server] = address;
    server.observe(this);
}

void CommandWatch::on_command(Server& server, const ServerCommand& /*command*/, Words words) {
    if (refunds_.is_overtaken(server, words)) {
        truths_.fail("a refund to " + std::string(words[3]) + " has been overtaken, and is lost");
    }
    if (!log_.is_kept()) {
        return;
    }
    std::string text;
    for (const std::string_view word : words) {
        text.append(1, ' ').append(word.substr(0, 60));
    }
    log_.add(addresses_[&server], "is asked:" + text);
}

}  // namespace rate_limit::world
