#pragma once

#include <map>
#include <string>

#include "t/world/server.h"
#include "t/worlds/event_log.h"
#include "t/worlds/refund_numbers.h"
#include "t/worlds/truths.h"

namespace rate_limit::world {

/// Logs what servers are asked. Fails where a refund is overtaken.
class CommandWatch final : public CommandObserver {
public:
    /// They outlive this.
    CommandWatch(Truths& truths, EventLog& log) noexcept : truths_(truths), log_(log) {}

    void watch(Server& server, const std::string& address);

private:
    void on_command(Server& server, const ServerCommand& command, Words words) override;

    Truths& truths_;
    EventLog& log_;
    RefundNumbers refunds_;
    std::map<const Server*, std::string> addresses_;
};

}  // namespace rate_limit::world
