#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "t/world/server_session.h"

namespace rate_limit::world {

/// A server whose clock stands still until a test moves it.
class ServerAt {
public:
    Micros now = 1'700'000'000'000'000;
    Server server{[this] { return now; }};

    void pass(Millis wait) { now += wait * 1000; }
};

/// A connection by which a test sends words, and reads an answer as one line: spaces where lines end.
class TestClient {
public:
    explicit TestClient(Server& server) : session_(server) {}

    /// `words` have spaces between them.
    std::string operator()(std::string_view words) { return send(split(words)); }

    std::string send(const std::vector<std::string_view>& words) {
        std::string bytes;
        append_command(bytes, words.data(), words.size());
        session_.receive(bytes);
        return line(session_.take_replies());
    }

    static std::string line(std::string replies) {
        std::string text;
        for (std::size_t at = 0; at < replies.size();) {
            const std::size_t end = replies.find("\r\n", at);
            text += (text.empty() ? "" : " ") + replies.substr(at, end - at);
            at = end + 2;
        }
        return text;
    }

    Session& session() noexcept { return session_; }

private:
    static std::vector<std::string_view> split(std::string_view words) {
        std::vector<std::string_view> all;
        while (!words.empty()) {
            const std::size_t space = words.find(' ');
            all.push_back(words.substr(0, space));
            words.remove_prefix(space == std::string_view::npos ? words.size() : space + 1);
        }
        return all;
    }

    Session session_;
};

}  // namespace rate_limit::world
