#include "t/world/written.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "t/world/server_request.h"

namespace rate_limit::world {

namespace {

std::int64_t number_of(std::string_view text) noexcept {
    std::int64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

/// The first of three numbers of the bucket's script: when it is full. Its highest bit is the script's sign.
std::int64_t full_at(std::string_view bytes) noexcept {
    std::uint64_t instant = 0;
    for (const char byte : bytes.substr(0, 8)) {
        instant = instant << 8U | static_cast<unsigned char>(byte);
    }
    return static_cast<std::int64_t>(instant & INT64_MAX);
}

}  // namespace

Ledger::Count Ledger::count_of(const Value& value) {
    Count count;
    if (const auto* text = std::get_if<std::string>(&value.content)) {
        count.full_at = text->size() >= 8 ? full_at(*text) : 0;
        return count;
    }
    const Hash* hash = std::get_if<Hash>(&value.content);
    if (hash == nullptr) {
        return count;
    }
    if (const std::string* version = hash->find("version")) {  // overrides: each write raises it
        count.used = number_of(*version);
        return count;
    }
    const std::string* used = hash->find("used");
    if (used == nullptr) {  // running requests: a field for each machine, and perhaps their sum
        for (const auto& [machine, slots] : hash->fields()) {
            count.used += machine == "+" ? 0 : number_of(slots);
        }
        return count;
    }
    const std::string* reset = hash->find("reset");
    count.reset = reset != nullptr ? number_of(*reset) : 0;
    count.used = number_of(*used);
    return count;
}

void Ledger::begin(Server& server) {
    counts_.clear();
    Keyspace& keys = server.databases().front();
    for (const std::string& key : keys.names()) {
        counts_.emplace(key, count_of(*keys.find(key)));
    }
}

std::vector<Written> Ledger::all_of(Server& server) {
    std::vector<Written> all;
    Keyspace& keys = server.databases().front();
    for (const std::string& key : keys.names()) {
        const Count count = count_of(*keys.find(key));
        const std::int64_t missing = std::max<std::int64_t>(count.full_at - server.micros() * 1000, 0);
        all.push_back({key, count.used + missing});
    }
    return all;
}

Written Ledger::take(Server& server, const Effect& effect) {
    std::vector<std::string_view> words;
    std::size_t length = 0;
    if (read_request(effect.commands, words, length) != Request::whole || words.size() < 2) {
        return {};
    }
    Written written{std::string(words[1])};
    const auto found = counts_.find(written.key);
    const Count before = found != counts_.end() ? found->second : Count{};
    const Value* value = server.databases()[effect.database].find(written.key);
    if (value == nullptr) {
        if (found != counts_.end()) {
            counts_.erase(found);
        }
        const std::int64_t missing = std::max<std::int64_t>(before.full_at - server.micros() * 1000, 0);
        const bool closed = before.reset != 0 && before.reset <= server.now();
        written.more = closed ? 0 : -before.used - missing;
        return written;
    }
    const Count after = count_of(*value);
    counts_.insert_or_assign(written.key, after);
    const std::int64_t now = server.micros() * 1000;
    written.more = after.used - (after.reset == before.reset ? before.used : 0) +
                   std::max(after.full_at, now) - std::max(before.full_at, now);
    return written;
}

void LostWrites::add(const Written& lost) {
    if (lost.more != 0) {
        Sums& sums = lost_[lost.key];
        (lost.more > 0 ? sums.taken : sums.given_back) += std::abs(lost.more);
    }
}

LostWrites::Sums LostWrites::of(std::string_view beginning, std::string_view ending) const {
    Sums all;
    for (const auto& [key, sums] : lost_) {
        if (key.size() >= ending.size() && key.compare(0, beginning.size(), beginning) == 0 &&
            key.compare(key.size() - ending.size(), ending.size(), ending) == 0) {
            all.taken += sums.taken;
            all.given_back += sums.given_back;
        }
    }
    return all;
}

}  // namespace rate_limit::world
