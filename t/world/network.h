#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "limiter/store_conf.h"
#include "t/world/chance.h"
#include "t/world/events.h"

namespace rate_limit::world {

class Wire;

/// A listener at an address of the world.
class Service {
public:
    virtual ~Service() = default;

    /// A client is connected. The wire outlives its end at both sides.
    virtual void on_accept(const std::shared_ptr<Wire>& wire) = 0;

    /// Bytes that the client has sent.
    virtual void on_bytes(const std::shared_ptr<Wire>& wire, std::string_view bytes) = 0;

    /// The client has gone.
    virtual void on_gone(const std::shared_ptr<Wire>& wire) = 0;
};

/// The side of a connection that made it.
class Caller {
public:
    virtual void on_connected() noexcept = 0;
    virtual void on_bytes(std::string_view bytes) noexcept = 0;

    /// The connection has failed, or is lost. `reason` is as the system says it.
    virtual void on_lost(const char* reason) noexcept = 0;

    /// It does not run for a while: what arrives waits for it.
    virtual bool stalls() const noexcept { return false; }

    /// The number of its machine, where Network::path() is to find that.
    virtual std::size_t machine() const noexcept { return 0; }

protected:
    ~Caller() = default;
};

/// How long bytes take, in microseconds of virtual time: 0 or more; std::invalid_argument for less.
class LinkTime {
public:
    LinkTime(Micros time);
    operator Micros() const noexcept { return time_; }
    LinkTime& operator+=(Micros more) { return *this = time_ + more; }

private:
    Micros time_;
};

/// How bytes travel between all workers and one server. What is set holds for what is sent from then on.
struct Link {
    LinkTime there = 100;  ///< how long bytes take to the server
    LinkTime back = 100;   ///< and from it

    /// How much longer they take at random: about that, half of the time less, and now and then a thousand
    /// times as much.
    LinkTime jitter_there = 0;
    LinkTime jitter_back = 0;

    std::size_t piece = 0;  ///< so many bytes at most arrive together; 0: all that was sent together

    bool refuses = false;       ///< whoever connects is refused
    bool silent = false;        ///< what is on its way waits, in either direction, and nobody is told
    bool silent_there = false;  ///< the same on the way to the server alone
    bool silent_back = false;   ///< and from it
};

/// The path between one machine and one server, beside the server's link. What is set holds for what is sent
/// from then on.
struct Path {
    bool parted = false;  ///< what is on its way waits, in either direction, and nobody is told
    LinkTime there = 0;   ///< how much longer bytes take to the server
    LinkTime back = 0;    ///< and from it
    LinkTime jitter = 0;  ///< and at random up to so much more, each way

    /// The least time from a question to its answer.
    Micros round_trip(const Link& link) const { return there + back + link.there + link.back; }
};

/// One connection. Bytes arrive in the order in which they were sent, however delays change; each side learns
/// of the other's end behind what that has sent.
class Wire : public std::enable_shared_from_this<Wire> {
public:
    /// `chance` is for jitter and pieces. All outlive this.
    Wire(Events& events, Chance& chance, const Link& link, const Path& path, Service& service,
         Caller& client) noexcept
        : events_(events), chance_(chance), link_(link), path_(path), service_(service), caller_(&client) {}

    void connect();

    /// The client sends.
    void send(std::string bytes);

    /// The client goes, and is told nothing more.
    void close();

    /// The server sends.
    void answer(std::string bytes);

    /// The server ends the connection; or something between does, at both sides.
    void end(const char* reason);

    enum class Direction : unsigned char { there, back };

    /// The connection is reset behind the next `bytes` in that direction, wherever these are in a command or
    /// a reply. Both sides learn of it.
    void reset_after(std::size_t bytes, Direction direction) noexcept {
        (direction == Direction::there ? there_ : back_).left = bytes;
    }

    /// The service may keep here what it knows of the connection.
    std::shared_ptr<void> session;

private:
    enum class State : unsigned char { connecting, open, over };

    /// One direction: what is on its way, in the order in which it was sent.
    struct Way {
        static constexpr std::size_t no_end = static_cast<std::size_t>(-1);

        std::deque<std::function<void()>> sent;
        Micros arrives = 0;         // the last of it
        std::size_t left = no_end;  // bytes until the connection is reset
    };

    void send_by(Way& way, std::function<void()> what);
    void send_pieces(Way& way, std::string bytes, void (Wire::*take)(const std::string& piece));
    void take_there(const std::string& piece);
    void take_back(const std::string& piece);
    void reset();
    void arrive(Way& way);
    Micros delay(const Way& way);
    bool is_silent(const Way& way) const noexcept;

    Events& events_;
    Chance& chance_;
    const Link& link_;
    const Path& path_;  // from the client's machine to the server
    Service& service_;
    Caller* caller_;  // null: it has gone
    State state_ = State::connecting;
    Way there_;
    Way back_;
};

/// All servers of a world, by their addresses.
class Network {
public:
    explicit Network(Events& events) noexcept : events_(events) { current_ = this; }
    ~Network() { current_ = nullptr; }
    Network(const Network&) = delete;
    Network& operator=(const Network&) = delete;

    static Network& current() noexcept { return *current_; }

    /// Whatever is random on links is drawn from this seed.
    void seed(std::uint64_t seed) { chance_ = Chance(seed); }

    /// `address` is as text_of() writes it; std::invalid_argument where it is not. The service outlives the
    /// network.
    Link& listen(const std::string& address, Service& service);
    void stop_listening(const std::string& address) { servers_.erase(address); }

    /// The path between the machine of this number and the server that listens at `address`.
    Path& path(std::size_t machine, const std::string& address) { return paths_[{machine, address}]; }

    /// Whoever listens at `address`, by the link that is called so, is found at `now` alone.
    void move(const std::string& address, const std::string& now);

    /// The host's name leads to this: a numeric address without a port. Whoever asks learns of it when
    /// `name_server` has passed.
    void lead(const std::string& host, const std::string& address) { names_[host] = address; }

    Micros name_server = 1'000;  ///< how long answers of the world's only name server take; 0 or more

    /// Null: there is no network, or it has no host of that name.
    static const std::string* find_host(const std::string& host) noexcept;

    /// Whoever calls has a turn of its loop.
    std::shared_ptr<Wire> connect(const Address& address, Caller& client);

private:
    Link& link_to(const std::string& address);
    std::string listener_at(const std::string& address) const;

    static Network* current_;

    Events& events_;
    Chance chance_{1};
    std::map<std::string, Service*> servers_;
    std::map<std::string, std::unique_ptr<Link>> links_;         // all links ever made: wires refer to them
    std::map<std::pair<std::size_t, std::string>, Path> paths_;  // by machine and address; wires refer to it
    std::map<std::string, std::string> moved_;                   // where those are now that listen at these
    std::map<std::string, std::string> names_;
};

/// `127.0.0.1:6379`
std::string text_of(const Address& address);

/// The address of such a text: IPv4 and a port from 1 to 65535; std::invalid_argument for any other text.
Address address_of(const std::string& text);

}  // namespace rate_limit::world
