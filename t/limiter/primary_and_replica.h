#pragma once

#include <gtest/gtest.h>

#include "t/limiter/checked.h"

namespace rate_limit::world {

/// A primary and a replica that know one window, of which a worker remembers nothing between requests. What
/// is sent over a connection that is forgotten goes nowhere.
class PrimaryAndReplica : public testing::Test {
protected:
    PrimaryAndReplica() {
        world.setup.stores.front().fresh = 0;
        world.setup.stores.front().shards.front().replicas = {Scenario::replica_address};
    }

    ScriptedReply answer(const Command& words) const {
        if (words[0] == "hmget") {
            return hmget(1, reset);
        }
        if (words[0] == "hincrby") {
            return integer(2);
        }
        return is_write(words) ? ScriptedReply(integers({1, reset})) : fallback(words);
    }

    static void place(Scripted& server, Micros each_way) {
        server.link().there = each_way;
        server.link().back = each_way;
    }

    Scenario world{{"default", "100000r/h"}};
    const Millis reset = world.at(1'800'000);
    std::size_t forgotten = 0;  // connections with a lower number, or this one
    const Handler handler = [this](const Command& words, ScriptedClient& client) -> ScriptedReply {
        return client.number() <= forgotten ? no_reply() : answer(words);
    };
    Scripted primary{world.events, world.network, Scenario::primary_address, handler};
    Scripted replica{world.events, world.network, Scenario::replica_address, handler};
};

}  // namespace rate_limit::world
