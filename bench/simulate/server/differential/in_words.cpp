#include "bench/simulate/server/differential/in_words.h"

#include <array>
#include <cstdio>
#include <initializer_list>
#include <map>
#include <string_view>

namespace rate_limit::simulated {
namespace {

using Fields = std::map<std::string, std::string>;

std::string list(std::initializer_list<std::string> words) {
    std::string text;
    for (const std::string& word : words) {
        text += (text.empty() ? "[" : ", ") + word;
    }
    return text + "]";
}

std::string list(std::initializer_list<std::int64_t> numbers) {
    std::string text;
    for (const std::int64_t number : numbers) {
        text += (text.empty() ? "[" : ", ") + std::to_string(number);
    }
    return text + "]";
}

std::string hash_in_words(const Fields& fields) {
    std::string text = "hash";
    for (const auto& [name, value] : fields) {
        text += ' ' + in_words(name) + '=' + value;
    }
    return text;
}

std::string error_in_words(std::string_view error) {
    for (const std::string_view word : {"WRONGTYPE", "READONLY"}) {
        if (error.find(word) != std::string_view::npos) {
            return in_words(word[0] == 'W' ? Fault::wrongtype : Fault::readonly);
        }
    }
    const bool broken_count = error.find("not an integer") != std::string_view::npos ||
                              error.find("overflow") != std::string_view::npos;
    return broken_count ? in_words(Fault::other) : "error: " + std::string(error);
}

}  // namespace

std::string in_words(const std::string& bytes) {
    std::string text = "'";
    for (const char byte : bytes) {
        if (byte >= ' ' && byte <= '~' && byte != '\\' && byte != '\'') {
            text += byte;
        } else {
            std::array<char, 8> code{};
            std::snprintf(code.data(), code.size(), "\\%02x", static_cast<unsigned char>(byte));
            text += code.data();
        }
    }
    return text + "'";
}

std::string in_words(const redisReply& reply) {
    switch (reply.type) {
        case REDIS_REPLY_NIL:
            return "nil";
        case REDIS_REPLY_INTEGER:
            return std::to_string(reply.integer);
        case REDIS_REPLY_STRING:
            return in_words(std::string(reply.str, reply.len));
        case REDIS_REPLY_ERROR:
            return error_in_words({reply.str, reply.len});
        case REDIS_REPLY_ARRAY:
            break;
        default:
            return std::string(reply.str, reply.len);
    }
    std::string text;
    for (std::size_t i = 0; i < reply.elements; ++i) {
        text += (i == 0 ? "[" : ", ") + in_words(*reply.element[i]);
    }
    return text + "]";
}

std::string in_words(const Text& text) {
    return text ? in_words(text.text()) : "nil";
}

std::string in_words(const StoredWindow& stored) {
    return list({in_words(stored.used), in_words(stored.reset)});
}

std::string in_words(std::int64_t number) {
    return std::to_string(number);
}

std::string in_words(const Window& window) {
    return list({window.used, window.reset});
}

std::string in_words(const Reserved& reserved) {
    return list({reserved.granted, reserved.window.used, reserved.window.reset});
}

std::string in_words(const BucketAnswer& answer) {
    return list(
        {answer.taken, answer.left, answer.missing, answer.wait, answer.time, answer.high, answer.low});
}

std::string in_words(const Held& held) {
    return list({held.mine, held.others, held.number});
}

std::string in_words(const Taken& taken) {
    return list({taken.before, taken.after});
}

std::string in_words(Fault fault) {
    return "error " + std::string(to_string(fault));
}

std::string in_words(const Value* value) {
    if (value == nullptr) {
        return "no key";
    }
    if (const auto* bucket = std::get_if<BucketBytes>(&value->content)) {
        return "string " + in_words(bytes_of(*bucket));
    }
    if (const auto* bytes = std::get_if<std::string>(&value->content)) {
        return "string " + in_words(*bytes);
    }
    const auto& hash = std::get<Hash>(value->content);
    Fields fields;
    for (const Field& field : hash.others()) {
        fields[field.name] = in_words(field.text);
    }
    for (const auto* name : {"used", "reset"}) {
        if (hash.find(name)) {
            fields[name] = in_words(hash.find(name));
        }
    }
    return hash_in_words(fields);
}

std::string content_in_words(const redisReply& fields, const redisReply& bytes) {
    if (bytes.type == REDIS_REPLY_STRING) {
        return "string " + in_words(std::string(bytes.str, bytes.len));
    }
    if (fields.type != REDIS_REPLY_ARRAY) {
        return in_words(fields);
    }
    Fields found;
    for (std::size_t i = 0; i + 1 < fields.elements; i += 2) {
        const redisReply& name = *fields.element[i];
        found[std::string(name.str, name.len)] = in_words(*fields.element[i + 1]);
    }
    return found.empty() ? "no key" : hash_in_words(found);
}

}  // namespace rate_limit::simulated
