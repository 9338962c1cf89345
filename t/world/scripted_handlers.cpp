#include <algorithm>
#include <utility>

#include "t/world/redis.h"
#include "t/world/scripted.h"
#include "t/world/server_reply.h"
#include "t/world/server_session.h"

namespace rate_limit::world {

namespace {

template <typename Write>
std::string encoded(Write&& write) {
    std::string bytes;
    RespReply reply(bytes);
    write(reply);
    return bytes;
}

bool is_greeting(const std::string& name) {
    return name == "auth" || name == "select" || name == "client" || name == "hello";
}

}  // namespace

std::string simple(std::string_view text) {
    return encoded([text](RespReply& reply) { reply.status(text); });
}

std::string nil() {
    return encoded([](RespReply& reply) { reply.nil(); });
}

std::string integer(std::int64_t number) {
    return encoded([number](RespReply& reply) { reply.integer(number); });
}

std::string bulk(std::string_view text) {
    return encoded([text](RespReply& reply) { reply.bulk(text); });
}

std::string error(std::string_view text) {
    return encoded([text](RespReply& reply) { reply.error(text); });
}

std::string array(const std::vector<std::string>& elements) {
    std::string bytes = encoded([&elements](RespReply& reply) { reply.array(elements.size()); });
    for (const std::string& element : elements) {
        bytes += element;
    }
    return bytes;
}

std::string integers(const std::vector<std::int64_t>& numbers) {
    std::vector<std::string> elements(numbers.size());
    std::transform(numbers.begin(), numbers.end(), elements.begin(), integer);
    return array(elements);
}

std::string hmget(std::optional<std::int64_t> used, std::optional<std::int64_t> reset) {
    const auto field = [](const std::optional<std::int64_t>& value) {
        return value ? bulk(std::to_string(*value)) : nil();
    };
    return array({field(used), field(reset)});
}

std::string fallback(const Command& words) {
    const std::string& name = words.front();
    if (name == "ping") {
        return simple("PONG");
    }
    const bool known = is_greeting(name) || name == "readonly" || name == "readwrite" || name == "asking";
    return known && name != "hello" ? simple("OK") : error("ERR unknown command '" + name + "'");
}

bool is_write(const Command& words) {
    return words.front() == "hincrby" || words.front() == "eval" || words.front() == "evalsha";
}

bool is_batch(const Command& words) {
    return words.front() == "evalsha" && words.size() == 15;
}

bool is_refund(const Command& words) {
    return words.front() == "evalsha" && words.size() == 9;
}

Handler reading(std::optional<std::int64_t> used, std::optional<std::int64_t> reset) {
    return [used, reset](const Command& words, ScriptedClient&) -> ScriptedReply {
        return words[0] == "hmget" ? hmget(used, reset) : fallback(words);
    };
}

Handler holding_reads() {
    return [](const Command& words, ScriptedClient&) -> ScriptedReply {
        if (words[0] == "hmget") {
            return hold("gate", hmget({}, {}));
        }
        return words[0] == "eval" || words[0] == "evalsha" ? integers({1, 1}) : fallback(words);
    };
}

Handler taking(Millis reset, Taking answer) {
    return [nth = std::size_t{0}, reset, answer = std::move(answer)](
               const Command& words, ScriptedClient& client) mutable -> ScriptedReply {
        if (words[0] == "hmget") {
            return hmget({}, {});
        }
        return is_write(words) ? answer(++nth, client, integers({1, reset})) : fallback(words);
    };
}

Handler reserving(Millis reset, const bool& slow) {
    return [used = std::map<std::string, std::int64_t>{}, reset, &slow](
               const Command& words, ScriptedClient&) mutable -> ScriptedReply {
        if (words[0] != "evalsha" || words.size() < 10) {
            return fallback(words);
        }
        const std::int64_t want = std::stoll(words[5]);
        std::int64_t& sum = used[words[3]];
        const std::int64_t left = std::stoll(words[4]) - sum;
        const std::int64_t granted = std::stoll(words[6]) > left ? 0 : std::min(want, left);
        sum += granted;
        std::string answer = integers({granted, sum, reset});
        return slow ? hold("gate", std::move(answer)) : ScriptedReply(std::move(answer));
    };
}

std::string ScriptedClient::relay(Redis& to, const Command& words) {
    std::shared_ptr<void>& session = sessions_[&to];
    if (session == nullptr) {
        session = std::make_shared<Session>(to.server());
    }
    const std::vector<std::string_view> views(words.begin(), words.end());
    std::string bytes;
    append_command(bytes, views.data(), views.size());
    auto& relayed = *std::static_pointer_cast<Session>(session);
    relayed.receive(bytes);
    return relayed.take_replies();
}

Handler relaying_to(Redis*& to, Relaying answer) {
    return [&to, answer = std::move(answer)](const Command& words, ScriptedClient& client) -> ScriptedReply {
        if (is_greeting(words[0])) {
            return fallback(words);
        }
        return to == nullptr ? client.reset() : answer(words, client, client.relay(*to, words));
    };
}

Handler relaying(Redis& to, Relaying answer) {
    return [&to, answer = std::move(answer)](const Command& words, ScriptedClient& client) -> ScriptedReply {
        return is_greeting(words[0]) ? fallback(words) : answer(words, client, client.relay(to, words));
    };
}

Handler holding_refunds(Redis& to) {
    return relaying(to, [](const Command& words, ScriptedClient&, std::string answer) {
        return is_refund(words) ? hold("gate", std::move(answer)) : ScriptedReply(std::move(answer));
    });
}

}  // namespace rate_limit::world
