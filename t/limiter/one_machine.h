#pragma once

#include <string>
#include <utility>

#include "t/limiter/scenario.h"

namespace rate_limit::world {

/// A world of one machine with one worker, which starts with the first request, and one primary.
class OneMachine : public Scenario {
public:
    explicit OneMachine(LimitSetup limit, Msec timeout = 0) : Scenario(std::move(limit), timeout) {}

    /// One request from begin to end, which takes `time` milliseconds.
    bool admits(const std::string& key, Msec time = 10) {
        ClientRequest request(worker(), key);
        request.begin();
        pass(time);
        const bool admitted = request.is_admitted();
        request.end();
        return admitted;
    }

    /// Puts a list in the place of every key.
    void put_lists() {
        Keyspace& keys = primary.server().databases().front();
        for (const std::string& name : keys.names()) {
            keys.find(name)->content = List{"another's"};
        }
    }

    Redis primary{events, network, primary_address};
};

}  // namespace rate_limit::world
