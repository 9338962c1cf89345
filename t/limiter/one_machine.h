#pragma once

#include <algorithm>
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

    /// Stores it as another machine, or an operator, does.
    void put_window(const std::string& key, std::int64_t used, Millis reset) {
        Hash window;
        window.set("used", std::to_string(used));
        window.set("reset", std::to_string(reset));
        primary.server().databases().front().make(key).content = window;
    }

    bool has(const std::string& key) { return primary.server().databases().front().find(key) != nullptr; }
    void remove(const std::string& key) { primary.server().databases().front().erase(key); }

    /// Nanoseconds until a bucket is full that a server has.
    std::int64_t until_full(Redis& server, const std::string& key) {
        const Value* const found = server.server().databases().front().find(key);
        std::int64_t instant = 0;
        for (std::size_t i = 0; found != nullptr && i < 8; ++i) {
            const char byte = std::get<std::string>(found->content)[i];
            instant = instant << 8 | (static_cast<unsigned char>(byte) & (i == 0 ? 0x7f : 0xff));
        }
        return std::max<std::int64_t>(0, instant - at() * 1'000'000);
    }

    Redis primary{events, network, primary_address};
};

}  // namespace rate_limit::world
