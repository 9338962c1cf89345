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
      link_(network.listen(address, *this)) {}

Redis::~Redis() {
    network_.stop_listening(address_);
}

Replication& Redis::replicate_to(Redis& replica, Micros lag) {
    replications_.push_back(std::make_unique<Replication>(events_, *this, replica, lag));
    server_.state.replicas = replications_.size();
    listen_to_writes();
    return *replications_.back();
}

Replication* Redis::replication_to(const Redis& replica) noexcept {
    const auto found = std::find_if(replications_.begin(), replications_.end(),
                                    [&replica](const auto& each) { return &each->to() == &replica; });
    return found != replications_.end() ? found->get() : nullptr;
}

void Redis::stop_replicating_to(const Redis& replica, LostWrites* lost) {
    const Replication* replication = replication_to(replica);
    if (replication == nullptr) {
        return;
    }
    replication->for_each_on_way([lost](const Written& written) {
        if (lost != nullptr) {
            lost->add(written);
        }
    });
    replications_.erase(std::find_if(replications_.begin(), replications_.end(),
                                     [replication](const auto& each) { return each.get() == replication; }));
    server_.state.replicas = replications_.size();
    listen_to_writes();
}

void Redis::count_as_lost(LostWrites* lost) {
    lost_ = lost;
    listen_to_writes();
}

/// Nobody is told of writes that nobody wants to know of: that takes time.
void Redis::listen_to_writes() {
    if (replications_.empty() && lost_ == nullptr) {
        server_.on_write(nullptr);
        listens_ = false;
    } else if (!std::exchange(listens_, true)) {
        ledger_.begin(server_);
        server_.on_write([this](const Effect& effect) { publish(effect); });
    }
}

void Redis::publish(const Effect& effect) {
    const Written written = ledger_.take(server_, effect);
    for (const auto& replication : replications_) {
        replication->send(effect, written);
    }
    if (lost_ != nullptr) {
        lost_->add(written);
    }
}

void Redis::take_over(const Redis& other) {
    kept_.reset();
    server_.load(other.server_.snapshot());
    count_as_lost(nullptr);
    ledger_.begin(server_);
}

void Redis::lose_data(LostWrites* lost) {
    if (lost != nullptr) {
        for (const Written& written : Ledger::all_of(server_)) {
            lost->add(written);
        }
    }
    kept_.reset();
    server_.clear();
    count_as_lost(nullptr);
    ledger_.begin(server_);
    for (const auto& replication : replications_) {
        replication->begin_anew();
    }
}

void Redis::keep(LostWrites& lost) {
    kept_ = std::make_unique<Databases>(server_.snapshot());
    count_as_lost(&lost);
}

void Redis::restore() {
    if (kept_ == nullptr) {
        return;
    }
    server_.load(*std::exchange(kept_, nullptr));
    count_as_lost(nullptr);
    ledger_.begin(server_);
    for (const auto& replication : replications_) {
        replication->begin_anew();
    }
}

Window Redis::window(const std::string& key) {
    const Value* value = server_.databases().front().find(key);
    const Hash* hash = value != nullptr ? std::get_if<Hash>(&value->content) : nullptr;
    const auto number = [hash](std::string_view field) {
        const std::string* text = hash != nullptr ? hash->find(field) : nullptr;
        return text != nullptr ? std::stoll(*text) : 0;
    };
    return {number("used"), number("reset")};
}

void Redis::on_accept(const std::shared_ptr<Wire>& wire) {
    if (dead_) {
        wire->end("Connection refused");
        return;
    }
    wire->session = std::make_shared<Session>(server_);
    wires_.push_back(wire);
}

void Redis::on_bytes(const std::shared_ptr<Wire>& wire, std::string_view bytes) {
    if (wire->session == nullptr) {  // the process knew the connection that was here before it
        wire->end("Connection reset by peer");
        return;
    }
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
    dead_ = true;
    reset_connections();
    waiting_.clear();
    server_.forget_scripts();
    if (!keeps) {
        server_.clear();
    }
}

void Redis::vanish() {
    dead_ = true;
    for (const std::shared_ptr<Wire>& wire : std::exchange(wires_, {})) {
        wire->session = nullptr;
    }
    waiting_.clear();
    server_.forget_scripts();
}

void Redis::reset_connections() {
    for (const std::shared_ptr<Wire>& wire : std::exchange(wires_, {})) {
        wire->end("Connection reset by peer");
    }
}

void Redis::reset_connections_within(std::uint64_t bits) {
    constexpr std::uint64_t most = 200;
    for (const std::shared_ptr<Wire>& wire : wires_) {
        wire->reset_after(bits / 2 % most, bits % 2 == 0 ? Wire::Direction::there : Wire::Direction::back);
        bits = bits * 6364136223846793005U + 1442695040888963407U;
        bits ^= bits >> 33U;
    }
}

void Redis::start() {
    dead_ = false;
    network_.listen(address_, *this);
}

void Redis::resume() {
    paused_ = false;
    for (const auto& [wire, bytes] : std::exchange(waiting_, {})) {
        on_bytes(wire, bytes);
    }
}

}  // namespace rate_limit::world
