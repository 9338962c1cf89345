#include "t/world/server_session.h"

namespace rate_limit::world {

void Session::receive(std::string_view bytes) {
    if (broken_) {
        return;
    }
    if (rest_.empty()) {
        rest_ = bytes.substr(run(bytes));
        return;
    }
    rest_ += bytes;
    rest_.erase(0, run(rest_));
}

std::size_t Session::run(std::string_view bytes) {
    RespReply reply(replies_);
    std::size_t done = 0;
    while (done < bytes.size()) {
        std::size_t length = 0;
        const Request request = read_request(bytes.substr(done), words_, length);
        if (request == Request::partial) {
            return done;
        }
        if (request == Request::broken) {
            reply.error(words_[0]);
            broken_ = true;
            return bytes.size();
        }
        if (!words_.empty()) {
            server_.run(client_, words_, reply);
        }
        done += length;
    }
    return done;
}

}  // namespace rate_limit::world
