#include "t/world/server_value.h"

#include <algorithm>

namespace rate_limit::world {
namespace {

template <typename Fields>
auto place_of(Fields& fields, std::string_view name) noexcept {
    return std::find_if(fields.begin(), fields.end(),
                        [name](const Hash::Field& field) { return field.first == name; });
}

}  // namespace

const std::string* Hash::find(std::string_view name) const noexcept {
    const auto place = place_of(fields_, name);
    return place == fields_.end() ? nullptr : &place->second;
}

bool Hash::set(std::string_view name, std::string_view text) {
    const auto place = place_of(fields_, name);
    if (place != fields_.end()) {
        place->second = text;
        return false;
    }
    fields_.emplace_back(name, text);
    return true;
}

bool Hash::erase(std::string_view name) {
    const auto place = place_of(fields_, name);
    if (place == fields_.end()) {
        return false;
    }
    fields_.erase(place);
    return true;
}

Value* Keyspace::find(std::string_view key) {
    if (found_.entry != nullptr && found_.entry->first == key) {
        return &found_.entry->second;
    }
    wanted_ = key;
    const auto place = values_.find(wanted_);
    if (place == values_.end()) {
        return nullptr;
    }
    found_.entry = &*place;
    return &place->second;
}

Value& Keyspace::make(std::string_view key) {
    Value* value = find(key);
    if (value != nullptr) {
        return *value;
    }
    wanted_ = key;
    found_.entry = &*values_.try_emplace(wanted_).first;
    return found_.entry->second;
}

bool Keyspace::erase(std::string_view key) {
    found_.entry = nullptr;
    wanted_ = key;
    return values_.erase(wanted_) != 0;
}

void Keyspace::clear() noexcept {
    found_.entry = nullptr;
    values_.clear();
}

std::vector<std::string> Keyspace::expired(Millis now) const {
    std::vector<std::string> keys;
    for (const auto& [key, value] : values_) {
        if (value.expires != never && value.expires < now) {
            keys.push_back(key);
        }
    }
    std::sort(keys.begin(), keys.end());
    return keys;
}

std::vector<std::string> Keyspace::names() const {
    std::vector<std::string> keys;
    for (const auto& [key, value] : values_) {
        keys.push_back(key);
    }
    std::sort(keys.begin(), keys.end());
    return keys;
}

}  // namespace rate_limit::world
