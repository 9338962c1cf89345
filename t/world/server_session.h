#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "t/world/server.h"

namespace rate_limit::world {

/// A client's connection, as its server sees it. Bytes may come cut anywhere, with any number of commands.
class Session {
public:
    /// `server` outlives this object.
    explicit Session(Server& server) noexcept : server_(server) {}

    /// Runs all commands that are complete now.
    void receive(std::string_view bytes);

    /// Replies since the last call, in the order of the commands.
    std::string take_replies() { return std::exchange(replies_, {}); }

    /// Whether bytes came that are no RESP: the server sends what is to be taken and closes.
    bool is_broken() const noexcept { return broken_; }

    const Client& client() const noexcept { return client_; }

private:
    /// Runs the commands at the start of `bytes`. Says how many bytes they had.
    std::size_t run(std::string_view bytes);

    Server& server_;
    Client client_;
    std::string rest_;  // a command that is not complete
    std::string replies_;
    std::vector<std::string_view> words_;
    bool broken_ = false;
};

}  // namespace rate_limit::world
