#include <string>
#include <vector>

#include "t/world/server.h"

// Keys that move between servers of a cluster, in its only database.

namespace rate_limit::world {

std::optional<Value> Server::take(const std::string& key) {
    micros_ = clock_();
    Client mover;
    const Value* found = find(mover, key);
    std::optional<Value> value;
    if (found != nullptr) {
        value = *found;
        erase(mover, key);
        changed(mover, {"DEL", key});
    }
    publish(mover);
    return value;
}

/// Replicas are told the commands that make such a value.
void Server::put(const std::string& key, const Value& value) {
    micros_ = clock_();
    Client mover;
    erase(mover, key);
    make(mover, key) = value;
    std::vector<std::string_view> words;
    if (const auto* text = std::get_if<std::string>(&value.content)) {
        words = {"SET", key, *text};
    } else if (const auto* hash = std::get_if<Hash>(&value.content)) {
        words = {"HSET", key};
        for (const auto& [name, content] : hash->fields()) {
            words.insert(words.end(), {name, content});
        }
    } else {
        words = {"RPUSH", key};
        const List& list = std::get<List>(value.content);
        words.insert(words.end(), list.begin(), list.end());
    }
    changed(mover, words);
    if (value.expires != never) {
        changed(mover, {"PEXPIREAT", key, std::to_string(value.expires)});
    }
    publish(mover);
}

void Server::drop(const std::function<bool(const std::string& key)>& unwanted) {
    for (const std::string& key : databases_.front().names()) {
        if (unwanted(key)) {
            take(key);
        }
    }
}

}  // namespace rate_limit::world
