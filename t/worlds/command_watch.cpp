#include "t/worlds/command_watch.h"

#include "t/world/server_command.h"

namespace rate_limit::world {

void CommandWatch::watch(Server& server, const std::string& address) {
    asked_[&server].address = address;
    server.observe(this);
}

void CommandWatch::on_command(Server& server, const ServerCommand& /*command*/, Words words) {
    Asked& asked = asked_[&server];
    const Micros now = events_.now() / second;
    asked.count = now == asked.second ? asked.count + 1 : 1;
    asked.second = now;
    if (asked.count > bound_) {
        truths_.fail("the server " + asked.address + " is asked more than " + std::to_string(bound_) +
                     " times in a second");
    }
    if (log_.is_kept()) {
        std::string text;
        for (const std::string_view word : words) {
            text.append(1, ' ').append(word.substr(0, 60));
        }
        log_.add(asked.address, "is asked:" + text);
    }
}

}  // namespace rate_limit::world
