#include "t/world/network.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace rate_limit::world {

namespace {

/// An address at which nobody listens.
class Nowhere final : public Service {
public:
    void on_accept(const std::shared_ptr<Wire>& wire) override { wire->end("Connection refused"); }
    void on_bytes(const std::shared_ptr<Wire>& /*wire*/, std::string_view /*bytes*/) override {}
    void on_gone(const std::shared_ptr<Wire>& /*wire*/) override {}
};

}  // namespace

Network* Network::current_ = nullptr;

void Wire::send_by(Way& way, std::function<void()> what) {
    way.sent.push_back(std::move(what));
    way.arrives = std::max(way.arrives, events_.now() + delay(way));
    events_.at(way.arrives, [self = shared_from_this(), &way] { self->arrive(way); });
}

/// Each further doubling is half as likely as the one before: the tail of a Pareto distribution of index 1.
Micros Wire::delay(const Way& way) {
    constexpr int most_doublings = 10;
    const bool there = &way == &there_;
    const Micros jitter = there ? link_.jitter_there : link_.jitter_back;
    Micros extra = 0;
    if (jitter > 0) {
        int doublings = 0;
        for (std::uint64_t bits = chance_.bits(); doublings < most_doublings && (bits & 1) == 0;
             bits >>= 1U) {
            ++doublings;
        }
        extra = chance_.below(jitter << doublings);
    }
    extra += path_.jitter > 0 ? chance_.below(path_.jitter + 1) : 0;
    return (there ? link_.there + path_.there : link_.back + path_.back) + extra;
}

bool Wire::is_silent(const Way& way) const noexcept {
    return path_.parted || link_.silent || (&way == &there_ ? link_.silent_there : link_.silent_back);
}

/// The first of what is under way arrives; while the link is silent, or the client stalls, it is tried once
/// more.
void Wire::arrive(Way& way) {
    constexpr Micros again = 10'000;
    const bool stalls = &way == &back_ && caller_ != nullptr && caller_->stalls();
    if (is_silent(way) || stalls) {
        events_.in(again, [self = shared_from_this(), &way] { self->arrive(way); });
        return;
    }
    const std::function<void()> what = std::move(way.sent.front());
    way.sent.pop_front();
    what();
}

/// Delivers as many of the bytes as the connection lasts for. What is sent refers to the wire, which the
/// event of its arrival keeps.
void Wire::send_pieces(Way& way, std::string bytes, void (Wire::*take)(const std::string& piece)) {
    const bool ends = way.left <= bytes.size();
    if (ends) {
        bytes.resize(way.left);
    }
    way.left -= way.left == Way::no_end ? 0 : bytes.size();
    while (link_.piece != 0 && bytes.size() > 1) {
        const auto most = static_cast<std::int64_t>(std::min(link_.piece, bytes.size()));
        const auto length = static_cast<std::size_t>(chance_.between(1, most));
        send_by(way, [this, take, piece = bytes.substr(0, length)] { (this->*take)(piece); });
        bytes.erase(0, length);
    }
    if (!bytes.empty()) {
        send_by(way, [this, take, piece = std::move(bytes)] { (this->*take)(piece); });
    }
    if (ends) {
        send_by(way, [this] { reset(); });
    }
}

void Wire::take_there(const std::string& piece) {
    if (state_ == State::open) {
        service_.on_bytes(shared_from_this(), piece);
    }
}

void Wire::take_back(const std::string& piece) {
    if (caller_ != nullptr) {
        caller_->on_bytes(piece);
    }
}

void Wire::reset() {
    const bool was_open = state_ == State::open;
    end("Connection reset by peer");
    if (was_open) {
        service_.on_gone(shared_from_this());
    }
}

void Wire::connect() {
    send_by(there_, [this] {
        if (link_.refuses) {
            end("Connection refused");
            return;
        }
        service_.on_accept(shared_from_this());
        if (state_ == State::connecting) {
            state_ = State::open;
            send_by(back_, [this] {
                if (caller_ != nullptr) {
                    caller_->on_connected();
                }
            });
        }
    });
}

void Wire::send(std::string bytes) {
    send_pieces(there_, std::move(bytes), &Wire::take_there);
}

void Wire::close() {
    caller_ = nullptr;
    send_by(there_, [this] {
        if (std::exchange(state_, State::over) == State::open) {
            service_.on_gone(shared_from_this());
        }
    });
}

void Wire::answer(std::string bytes) {
    if (state_ != State::over) {
        send_pieces(back_, std::move(bytes), &Wire::take_back);
    }
}

void Wire::end(const char* reason) {
    if (std::exchange(state_, State::over) == State::over) {
        return;
    }
    send_by(back_, [this, reason] {
        if (caller_ != nullptr) {
            std::exchange(caller_, nullptr)->on_lost(reason);
        }
    });
}

LinkTime::LinkTime(Micros time) : time_(time) {
    if (time < 0) {
        throw std::invalid_argument("bytes on a link take " + std::to_string(time) + " us: it is 0 or more");
    }
}

Link& Network::listen(const std::string& address, Service& service) {
    if (text_of(address_of(address)) != address) {
        throw std::invalid_argument("\"" + address + "\" has zeros in front: nobody would find it");
    }
    servers_.insert_or_assign(address, &service);
    return link_to(address);
}

Link& Network::link_to(const std::string& address) {
    std::unique_ptr<Link>& link = links_[address];
    if (link == nullptr) {
        link = std::make_unique<Link>();
    }
    return *link;
}

std::shared_ptr<Wire> Network::connect(const Address& address, Caller& client) {
    static Nowhere nowhere;
    const std::string text = listener_at(text_of(address));
    const auto found = servers_.find(text);
    Service& service = found != servers_.end() ? *found->second : nowhere;
    const Path& between = path(client.machine(), text);
    auto wire = std::make_shared<Wire>(events_, chance_, link_to(text), between, service, client);
    wire->connect();
    return wire;
}

void Network::move(const std::string& address, const std::string& now) {
    moved_[address] = now;
}

/// The address under which the server that is found at `address` listens; empty where there is none.
std::string Network::listener_at(const std::string& address) const {
    for (const auto& [listens, now] : moved_) {
        if (now == address) {
            return listens;
        }
    }
    return moved_.find(address) == moved_.end() ? address : "";
}

const std::string* Network::find_host(const std::string& host) noexcept {
    if (current_ == nullptr) {
        return nullptr;
    }
    const auto found = current_->names_.find(host);
    return found != current_->names_.end() ? &found->second : nullptr;
}

std::string text_of(const Address& address) {
    const auto& inet = reinterpret_cast<const sockaddr_in&>(address.sockaddr);
    char host[INET_ADDRSTRLEN] = "";
    inet_ntop(AF_INET, &inet.sin_addr, host, sizeof host);
    return std::string(host) + ":" + std::to_string(ntohs(inet.sin_port));
}

Address address_of(const std::string& text) {
    const auto colon = text.rfind(':');
    const std::string port = colon != std::string::npos ? text.substr(colon + 1) : "";
    const bool has_port =
        !port.empty() && port.size() <= 5 && port.find_first_not_of("0123456789") == std::string::npos;
    const int number = has_port ? std::stoi(port) : 0;
    Address address{};
    auto& inet = reinterpret_cast<sockaddr_in&>(address.sockaddr);
    if (number < 1 || number > 65535 ||
        inet_pton(AF_INET, text.substr(0, colon).c_str(), &inet.sin_addr) != 1) {
        throw std::invalid_argument("\"" + text +
                                    "\" is no address: IPv4, a colon and a port from 1 to 65535");
    }
    inet.sin_family = AF_INET;
    inet.sin_port = htons(static_cast<std::uint16_t>(number));
    address.length = sizeof inet;
    return address;
}

}  // namespace rate_limit::world
