#pragma once

#include <string>

#include "bench/simulate/server/differential/real_server.h"
#include "bench/simulate/server/server.h"

namespace rate_limit::simulated {

// Answers and states of both sides in the same words, so that they can be compared, and read.

std::string in_words(const redisReply& reply);

/// A bulk string, with a backslash before all that would not be seen.
std::string in_words(const std::string& bytes);

std::string in_words(const Text& text);  ///< nil where there is none

std::string in_words(const StoredWindow& stored);
std::string in_words(std::int64_t number);
std::string in_words(const Window& window);
std::string in_words(const Reserved& reserved);
std::string in_words(const BucketAnswer& answer);
std::string in_words(const Held& held);
std::string in_words(const Taken& taken);
std::string in_words(Fault fault);

template <typename T>
std::string in_words(const Answered<T>& answered) {
    if (answered.fault != Fault::none) {
        return in_words(answered.fault);
    }
    std::string text = in_words(answered.value);
    return answered.replaced ? text.replace(text.size() - 1, 1, ", 1]") : text;
}

/// What a key holds, its fields in the order of their names.
std::string in_words(const Value* value);

/// The same of the replies to HGETALL and GET.
std::string content_in_words(const redisReply& fields, const redisReply& bytes);

}  // namespace rate_limit::simulated
