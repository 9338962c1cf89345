#pragma once

#include <map>
#include <string>

#include "t/world/redis.h"

namespace rate_limit::world {

/// Counts the commands that a server gets, by their names in lower case.
class Calls final : public CommandObserver {
public:
    explicit Calls(Redis& server) { server.server().observe(this); }

    void on_command(Server& /*server*/, const ServerCommand& command, Words /*words*/) override {
        ++counts_[std::string(command.name)];
    }

    std::size_t operator[](const std::string& name) const {
        const auto found = counts_.find(name);
        return found == counts_.end() ? 0 : found->second;
    }

private:
    std::map<std::string, std::size_t> counts_;
};

}  // namespace rate_limit::world
