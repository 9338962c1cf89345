#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "t/world/server.h"
#include "t/worlds/event_log.h"
#include "t/worlds/truths.h"

namespace rate_limit::world {

/// Sees what servers are asked: tells it, and that no server is stormed.
class CommandWatch final : public CommandObserver {
public:
    /// `bound`: commands that a server may be asked in one second. All outlive it.
    CommandWatch(const Events& events, std::uint64_t bound, Truths& truths, EventLog& log) noexcept
        : events_(events), bound_(bound), truths_(truths), log_(log) {}

    void watch(Server& server, const std::string& address);

private:
    struct Asked {
        std::string address;
        Micros second = 0;
        std::uint64_t count = 0;  // in that second
    };

    void on_command(Server& server, const ServerCommand& command, Words words) override;

    const Events& events_;
    const std::uint64_t bound_;
    Truths& truths_;
    EventLog& log_;
    std::map<const Server*, Asked> asked_;
};

}  // namespace rate_limit::world
