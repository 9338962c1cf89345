#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "t/limiter/one_machine.h"

namespace rate_limit::world {

inline LimitSetup running(const char* limit, const char* name = "default", const char* store = "main") {
    return {name, limit, "check_charge", 0, store, lease_auto, "first", true};
}

/// How many slots Redis has for the key, of each machine that has some, the fewest first: `1 3 `.
inline std::string held(Redis& primary, const std::string& key = "k") {
    const Value* const found = primary.server().databases().front().find(stored_key(key, "n"));
    std::vector<int> all;
    if (found != nullptr) {
        for (const auto& [machine, text] : std::get<Hash>(found->content).fields()) {
            all.push_back(std::stoi(text));
        }
    }
    std::sort(all.begin(), all.end());
    std::string told;
    for (const int slots : all) {
        told += slots == 0 ? "" : std::to_string(slots) + ' ';
    }
    return told;
}

}  // namespace rate_limit::world
