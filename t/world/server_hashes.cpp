#include <charconv>
#include <string>
#include <vector>

#include "t/world/server.h"
#include "t/world/server_numbers.h"

namespace rate_limit::world {
namespace {

/// The hash of a key, for reading: null where there is none. False where the key holds something else; that
/// is answered then.
bool find_hash(Call& call, const Hash*& hash) {
    const Value* value = call.server.find(call.client, call.words[1]);
    hash = value != nullptr ? std::get_if<Hash>(&value->content) : nullptr;
    if (value != nullptr && hash == nullptr) {
        call.reply.error(wrong_type);
        return false;
    }
    return true;
}

/// The hash of a key, for writing, empty where there was none. Null where the key holds something else.
Hash* make_hash(Call& call) {
    Value* value = call.server.find(call.client, call.words[1]);
    if (value == nullptr) {
        return &call.server.make(call.client, call.words[1]).content.emplace<Hash>();
    }
    Hash* hash = std::get_if<Hash>(&value->content);
    if (hash == nullptr) {
        call.reply.error(wrong_type);
    }
    return hash;
}

void answer_field(Call& call, const Hash* hash, std::string_view name) {
    const std::string* text = hash != nullptr ? hash->find(name) : nullptr;
    if (text != nullptr) {
        call.reply.bulk(*text);
    } else {
        call.reply.nil();
    }
}

}  // namespace

void run_hmget(Call& call) {
    const Hash* hash = nullptr;
    if (find_hash(call, hash)) {
        call.reply.array(call.words.size() - 2);
        for (const std::string_view name : call.words.from(2)) {
            answer_field(call, hash, name);
        }
    }
}

void run_hget(Call& call) {
    const Hash* hash = nullptr;
    if (find_hash(call, hash)) {
        answer_field(call, hash, call.words[2]);
    }
}

void run_hgetall(Call& call) {
    const Hash* hash = nullptr;
    if (!find_hash(call, hash)) {
        return;
    }
    call.reply.array(hash != nullptr ? 2 * hash->size() : 0);
    if (hash != nullptr) {
        for (const auto& [name, text] : hash->fields()) {
            call.reply.bulk(name);
            call.reply.bulk(text);
        }
    }
}

void run_hlen(Call& call) {
    const Hash* hash = nullptr;
    if (find_hash(call, hash)) {
        call.reply.integer(hash != nullptr ? static_cast<std::int64_t>(hash->size()) : 0);
    }
}

void run_hset(Call& call) {
    if (call.words.size() % 2 != 0) {
        call.reply.error("ERR wrong number of arguments for 'hset' command");
        return;
    }
    Hash* hash = make_hash(call);
    if (hash == nullptr) {
        return;
    }
    std::int64_t fresh = 0;
    for (std::size_t i = 2; i < call.words.size(); i += 2) {
        fresh += hash->set(call.words[i], call.words[i + 1]) ? 1 : 0;
    }
    call.reply.integer(fresh);
    call.server.changed(call.client, call.words);
}

void run_hincrby(Call& call) {
    std::int64_t by = 0;
    if (!read_integer(call.words[3], by)) {
        call.reply.error(no_integer);
        return;
    }
    Hash* hash = make_hash(call);
    if (hash == nullptr) {
        return;
    }
    std::int64_t number = 0;
    const std::string* text = hash->find(call.words[2]);
    const bool sound = text == nullptr || read_integer(*text, number);
    if (!sound || overflows(number, by)) {
        call.reply.error(sound ? "ERR increment or decrement would overflow"
                               : "ERR hash value is not an integer");
        return;
    }
    std::array<char, 24> digits{};
    const char* end = std::to_chars(digits.data(), digits.data() + digits.size(), number + by).ptr;
    hash->set(call.words[2], {digits.data(), static_cast<std::size_t>(end - digits.data())});
    call.reply.integer(number + by);
    call.server.changed(call.client, call.words);
}

void run_hdel(Call& call) {
    Value* value = call.server.find(call.client, call.words[1]);
    Hash* hash = value != nullptr ? std::get_if<Hash>(&value->content) : nullptr;
    if (value != nullptr && hash == nullptr) {
        call.reply.error(wrong_type);
        return;
    }
    std::int64_t deleted = 0;
    for (const std::string_view name : call.words.from(2)) {
        deleted += hash != nullptr && hash->erase(name) ? 1 : 0;
    }
    if (hash != nullptr && hash->size() == 0) {
        call.server.erase(call.client, call.words[1]);
    }
    call.reply.integer(deleted);
    if (deleted > 0) {
        call.server.changed(call.client, call.words);
    }
}

}  // namespace rate_limit::world
