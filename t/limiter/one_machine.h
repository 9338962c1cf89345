#pragma once

#include <memory>
#include <string>
#include <utility>

#include "t/world/client_request.h"
#include "t/world/redis.h"

namespace rate_limit::world {

/// A world of one machine with one worker, which starts with the first request, and one primary.
struct OneMachine {
    static constexpr const char* primary_address = "10.0.0.1:6379";

    explicit OneMachine(LimitSetup limit) {
        setup.stores = {{"main", {{"a", primary_address}}}};
        setup.limits = {std::move(limit)};
    }

    WorkerProcess& worker() {
        if (machine == nullptr) {
            machine = std::make_unique<Machine>(events, setup);
            machine->start_worker();
        }
        return *machine->workers().front();
    }

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

    void pass(Msec time) { events.pass(static_cast<Micros>(time) * 1000); }

    Setup setup;
    Events events;
    Network network{events};
    Redis primary{events, network, primary_address};
    std::unique_ptr<Machine> machine;
};

}  // namespace rate_limit::world
