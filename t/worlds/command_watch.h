#pragma once

#include <map>
#include <string>

#include "t/world/server.h"
#include "t/worlds/event_log.h"

namespace rate_limit::world {

/// Tells what servers are asked.
class CommandWatch final : public CommandObserver {
public:
    /// It outlives this.
    explicit CommandWatch(EventLog& log) noexcept : log_(log) {}

    void watch(Server& server, const std::string& address);

private:
    void on_command(Server& server, const ServerCommand& command, Words words) override;

    EventLog& log_;
    std::map<const Server*, std::string> addresses_;
};

}  // namespace rate_limit::world
