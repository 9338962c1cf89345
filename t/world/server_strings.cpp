#include <optional>
#include <string>

#include "t/world/server.h"
#include "t/world/server_numbers.h"

namespace rate_limit::world {
namespace {

/// Options of SET, which stand behind the value.
struct SetOptions {
    bool only_new = false;
    bool only_old = false;
    bool keeps_ttl = false;
    std::string_view life;  // empty: it does not expire
    Millis unit = 1;
    bool is_instant = false;
};

/// False where the words make no sense.
bool read_options(Words words, SetOptions& options) {
    for (std::size_t i = 3; i < words.size(); ++i) {
        const std::string_view word = words[i];
        const bool px = is_word(word, "px");
        const bool pxat = is_word(word, "pxat");
        if (is_word(word, "nx") && !options.only_old) {
            options.only_new = true;
        } else if (is_word(word, "xx") && !options.only_new) {
            options.only_old = true;
        } else if (is_word(word, "keepttl") && options.life.empty()) {
            options.keeps_ttl = true;
        } else if ((px || pxat || is_word(word, "ex")) && i + 1 < words.size() && options.life.empty() &&
                   !options.keeps_ttl) {
            options.life = words[++i];
            options.unit = px || pxat ? 1 : 1000;
            options.is_instant = pxat;
        } else {
            return false;
        }
    }
    return true;
}

/// When the value expires, or `never`. Nothing where that makes no sense, which is answered then.
std::optional<Millis> read_expiry(Call& call, const SetOptions& options) {
    if (options.life.data() == nullptr) {
        return never;
    }
    std::int64_t life = 0;
    if (!read_integer(options.life, life)) {
        call.reply.error(no_integer);
        return std::nullopt;
    }
    const Millis from = options.is_instant ? 0 : call.server.now();
    if (life <= 0 || life > INT64_MAX / options.unit || life * options.unit > INT64_MAX - from) {
        call.reply.error("ERR invalid expire time in 'set' command");
        return std::nullopt;
    }
    return from + life * options.unit;
}

void replicate_set(Call& call, Millis expires) {
    const std::string instant = std::to_string(expires);
    if (expires == never) {
        call.server.changed(call.client, call.words);
    } else {
        call.server.changed(call.client, {"SET", call.words[1], call.words[2], "PXAT", instant});
    }
}

}  // namespace

void run_get(Call& call) {
    const Value* value = call.server.find(call.client, call.words[1]);
    if (value == nullptr) {
        call.reply.nil();
    } else if (const auto* text = std::get_if<std::string>(&value->content)) {
        call.reply.bulk(*text);
    } else {
        call.reply.error(wrong_type);
    }
}

void run_set(Call& call) {
    SetOptions options;
    if (!read_options(call.words, options)) {
        call.reply.error(syntax_error);
        return;
    }
    const std::optional<Millis> expires = read_expiry(call, options);
    if (!expires) {
        return;
    }
    Value* value = call.server.find(call.client, call.words[1]);
    if (value != nullptr ? options.only_new : options.only_old) {
        call.reply.nil();
        return;
    }
    Value& kept = call.server.make(call.client, call.words[1]);
    kept.content = std::string(call.words[2]);
    kept.expires = options.keeps_ttl ? kept.expires : *expires;
    call.reply.status("OK");
    replicate_set(call, *expires);
}

void run_rpush(Call& call) {
    Value* value = call.server.find(call.client, call.words[1]);
    if (value == nullptr) {
        value = &call.server.make(call.client, call.words[1]);
        value->content.emplace<List>();
    }
    auto* list = std::get_if<List>(&value->content);
    if (list == nullptr) {
        call.reply.error(wrong_type);
        return;
    }
    const Words added = call.words.from(2);
    list->insert(list->end(), added.begin(), added.end());
    call.reply.integer(static_cast<std::int64_t>(list->size()));
    call.server.changed(call.client, call.words);
}

}  // namespace rate_limit::world
