#include "t/world/redis.h"

#include <algorithm>
#include <utility>

#include "t/world/loop.h"
#include "t/world/server_session.h"

namespace rate_limit::world {

Redis::Redis(Events& events, Network& network, const std::string& address, Micros clock_ahead)
    : events_(events),
      network_(network),
      address_(address),
      server_([&events, clock_ahead] { return Loop::usual_wall_clock * 1000 + events.now() + clock_ahead; }),
      link_(network.listen(address, *this)) {
    server_.on_write([this](const Effect& effect) {
        for (const Replica& replica : replicas_) {
            events_.in(replica.lag, [&to = replica.redis, effect] { to.server_.apply(effect); });
        }
    });
}

Redis::~Redis() {
    network_.stop_listening(address_);
}

void Redis::replicate_to(Redis& replica, Micros lag) {
    replica.server_.load(server_.snapshot());
    replica.server_.state.role = ServerRole::replica;
    replicas_.push_back({replica, lag});
    server_.state.replicas = replicas_.size();
}

std::int64_t Redis::used(const std::string& key) {
    const Value* value = server_.databases().front().find(key);
    const Hash* hash = value != nullptr ? std::get_if<Hash>(&value->content) : nullptr;
    const std::string* text = hash != nullptr ? hash->find("used") : nullptr;
    return text != nullptr ? std::stoll(*text) : 0;
}

void Redis::on_accept(const std::shared_ptr<Wire>& wire) {
    wire->session = std::make_shared<Session>(server_);
    wires_.push_back(wire);
}

void Redis::on_bytes(const std::shared_ptr<Wire>& wire, std::string_view bytes) {
    if (paused_) {
        waiting_.emplace_back(wire, bytes);
        return;
    }
    auto& session = *std::static_pointer_cast<Session>(wire->session);
    session.receive(bytes);
    std::string replies = session.take_replies();
    if (!replies.empty()) {
        wire->answer(std::move(replies));
    }
    if (session.is_broken()) {
        wire->end("Server closed the connection");
    }
}

void Redis::on_gone(const std::shared_ptr<Wire>& wire) {
    wires_.erase(std::remove(wires_.begin(), wires_.end(), wire), wires_.end());
}

void Redis::kill(bool keeps) {
    network_.stop_listening(address_);
    reset_connections();
    waiting_.clear();
    server_.forget_scripts();
    if (!keeps) {
        server_.clear();
    }
}

void Redis::reset_connections() {
    for (const std::shared_ptr<Wire>& wire : std::exchange(wires_, {})) {
        wire->end("Connection reset by peer");
    }
}

void Redis::start() {
    network_.listen(address_, *this);
}

void Redis::resume() {
    paused_ = false;
    for (const auto& [wire, bytes] : std::exchange(waiting_, {})) {
        on_bytes(wire, bytes);
    }
}

}  // namespace rate_limit::world
