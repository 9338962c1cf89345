#include <string>

#include "t/world/server.h"
#include "t/world/server_numbers.h"

namespace rate_limit::world {
namespace {

/// EXPIRE's options. False for others; that is answered then.
struct ExpireOptions {
    bool nx = false;
    bool xx = false;
    bool gt = false;
    bool lt = false;
};

bool read_options(Call& call, ExpireOptions& options) {
    for (const std::string_view word : call.words.from(3)) {
        bool* const option = is_word(word, "nx")   ? &options.nx
                             : is_word(word, "xx") ? &options.xx
                             : is_word(word, "gt") ? &options.gt
                             : is_word(word, "lt") ? &options.lt
                                                   : nullptr;
        if (option == nullptr) {
            call.reply.error("ERR Unsupported option " + std::string(word));
            return false;
        }
        *option = true;
    }
    if (options.nx && (options.xx || options.gt || options.lt)) {
        call.reply.error("ERR NX and XX, GT or LT options at the same time are not compatible");
        return false;
    }
    if (options.gt && options.lt) {
        call.reply.error("ERR GT and LT options at the same time are not compatible");
        return false;
    }
    return true;
}

bool allows(const ExpireOptions& options, Millis before, Millis after) noexcept {
    const bool expires = before != never;
    return !(options.nx && expires) && !(options.xx && !expires) &&
           !(options.gt && (!expires || after <= before)) && !(options.lt && expires && after >= before);
}

/// The instant that EXPIRE and its kin name. False where that has no room; that is answered then.
bool read_instant(Call& call, Millis& instant) {
    const bool in_seconds = call.command.name[0] != 'p';
    const bool is_instant = call.command.name.back() == 't';
    std::int64_t number = 0;
    if (!read_integer(call.words[2], number)) {
        call.reply.error(no_integer);
        return false;
    }
    const std::int64_t unit = in_seconds ? 1000 : 1;
    const Millis from = is_instant ? 0 : call.server.now();
    if (number > INT64_MAX / unit || number < INT64_MIN / unit || overflows(number * unit, from)) {
        call.reply.error("ERR invalid expire time in '" + std::string(call.command.name) + "' command");
        return false;
    }
    instant = number * unit + from;
    return true;
}

}  // namespace

void run_expire(Call& call) {
    ExpireOptions options;
    Millis instant = 0;
    if (!read_options(call, options) || !read_instant(call, instant)) {
        return;
    }
    const std::string_view key = call.words[1];
    Value* value = call.server.find(call.client, key);
    if (value == nullptr || !allows(options, value->expires, instant)) {
        call.reply.integer(0);
        return;
    }
    if (instant <= call.server.now() && !call.client.is_primary) {
        call.server.erase(call.client, key);
        call.server.changed(call.client, {"DEL", key});
    } else {
        value->expires = instant;
        const std::string text = std::to_string(instant);
        call.server.changed(call.client, {"PEXPIREAT", key, text});
    }
    call.reply.integer(1);
}

void run_persist(Call& call) {
    Value* value = call.server.find(call.client, call.words[1]);
    const bool expires = value != nullptr && value->expires != never;
    if (expires) {
        value->expires = never;
        call.server.changed(call.client, call.words);
    }
    call.reply.integer(expires ? 1 : 0);
}

void run_ttl(Call& call) {
    const Value* value = call.server.find(call.client, call.words[1]);
    if (value == nullptr || value->expires == never) {
        call.reply.integer(value == nullptr ? -2 : -1);
        return;
    }
    const Millis left = std::max<Millis>(value->expires - call.server.now(), 0);
    call.reply.integer(call.command.name[0] == 'p' ? left : (left + 500) / 1000);
}

void run_del(Call& call) {
    std::int64_t deleted = 0;
    for (const std::string_view key : call.words.from(1)) {
        if (call.server.find(call.client, key) != nullptr) {
            call.server.erase(call.client, key);
            call.server.changed(call.client, {"DEL", key});
            ++deleted;
        }
    }
    call.reply.integer(deleted);
}

void run_exists(Call& call) {
    std::int64_t found = 0;
    for (const std::string_view key : call.words.from(1)) {
        found += call.server.find(call.client, key) != nullptr ? 1 : 0;
    }
    call.reply.integer(found);
}

void run_type(Call& call) {
    const Value* value = call.server.find(call.client, call.words[1]);
    constexpr std::string_view names[] = {"string", "hash", "list"};
    call.reply.status(value == nullptr ? "none" : names[value->content.index()]);
}

void run_dbsize(Call& call) {
    const Keyspace& keys = call.server.databases()[call.client.database];
    call.reply.integer(static_cast<std::int64_t>(keys.size()));
}

void run_flushall(Call& call) {
    const Words how = call.words.from(1);
    if (how.size() > 1 || (how.size() == 1 && !is_word(how[0], "sync") && !is_word(how[0], "async"))) {
        call.reply.error(syntax_error);
        return;
    }
    call.server.clear();
    call.server.changed(call.client, {"FLUSHALL"});
    call.reply.status("OK");
}

}  // namespace rate_limit::world
