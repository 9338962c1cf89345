#include "t/worlds/refund_numbers.h"

#include <cstddef>
#include <string_view>

namespace rate_limit::world {

namespace {

/// EVALSHA or EVAL, the script, 1, the key, and the arguments of lua/refund.lua. No other call of a window
/// has so many words.
enum Word : std::size_t { key = 3, reset = 5, worker = 7, number = 8, count = 9 };

}  // namespace

bool RefundNumbers::is_overtaken(Server& server, Words words) {
    if (words.size() != count) {
        return false;
    }
    const Value* value = server.databases().front().find(words[key]);
    const Hash* window = value != nullptr ? std::get_if<Hash>(&value->content) : nullptr;
    const std::string* end = window != nullptr ? window->find("reset") : nullptr;
    const bool open = end != nullptr && *end == words[reset];
    const std::string* last = open ? window->find("r:" + std::string(words[worker])) : nullptr;
    const auto call =
        std::make_tuple(std::string(words[key]), std::string(words[worker]), std::string(words[number]));
    // Times in microseconds have as many digits each.
    if (last != nullptr && *last > words[number]) {
        return given_back_.find(call) == given_back_.end();
    }
    if (last == nullptr || *last == words[number]) {
        given_back_.insert(call);
    }
    return false;
}

}  // namespace rate_limit::world
