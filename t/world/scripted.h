#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/limit/window.h"
#include "t/world/network.h"

namespace rate_limit::world {

class Redis;
class Scripted;
class ScriptedClient;

/// A command as a scripted server received it; its name in lower case.
using Command = std::vector<std::string>;

/// How a handler answers one command. A text converts to it: these bytes at once.
struct ScriptedReply {
    enum class When : unsigned char { now, at_gate, later, never };

    ScriptedReply(std::string text) : bytes(std::move(text)) {}
    ScriptedReply(const char* text) : bytes(text) {}
    ScriptedReply(When how, std::string text) : bytes(std::move(text)), when(how) {}

    std::string bytes;
    When when = When::now;
    std::string gate{};  ///< at_gate: Scripted::release() of it lets the reply go
    Micros after = 0;    ///< later: virtual time from the command on
};

/// Results of handlers beside bytes. Replies leave in the order of their commands: one that waits keeps
/// those behind it. A command that is never answered keeps nothing.
ScriptedReply hold(std::string gate, std::string bytes);
ScriptedReply later(Micros after, std::string bytes);
ScriptedReply no_reply();

/// Answers a command. It is called in the test's own process, so that what it captures by reference says how
/// it is to answer.
using Handler = std::function<ScriptedReply(const Command& words, ScriptedClient& client)>;

/// A server of the world that answers what the test wants:
///
///     Scripted primary(world.events, world.network, "10.0.0.1:6379",
///                      [&](const Command& words, ScriptedClient& client) -> ScriptedReply {
///                          if (words[0] == "hmget") {
///                              return slow ? hold("gate", hmget({}, {})) : ScriptedReply(hmget(3, reset));
///                          }
///                          return fallback(words);
///                      });
///     primary.commands("hmget");  // those received, in order
///     primary.release("gate");
///
/// Its replies go through the limiter's own decoder, over a Link with the usual delays. It listens from its
/// construction to its end, but for stop(). Declare it after the world whose network it is in.
class Scripted final : public Service {
public:
    Scripted(Events& events, Network& network, std::string address, Handler handler = {});
    ~Scripted() override;  // NOLINT(bugprone-exception-escape): see its definition
    Scripted(const Scripted&) = delete;
    Scripted& operator=(const Scripted&) = delete;

    const std::string& address() const noexcept { return address_; }
    Link& link() noexcept { return link_; }
    Events& events() noexcept { return events_; }

    /// All commands received since the begin or the last forget(), in order.
    const std::vector<Command>& commands() const noexcept { return commands_; }

    /// Those of that name, which is in lower case.
    std::vector<Command> commands(std::string_view name) const;

    /// Those that charge or reserve; see is_write().
    std::vector<Command> writes() const;

    /// The sum of the costs in them, by key.
    std::map<std::string, std::int64_t> charged() const;

    void forget() { commands_.clear(); }

    /// How many connections it has accepted, and how many are open.
    std::size_t connections() const noexcept { return accepted_; }
    std::size_t open() const noexcept { return clients_.size(); }

    /// Replies that wait at this gate leave. What comes there later waits for the next call.
    void release(const std::string& gate);

    /// Ends all connections; what waits is lost.
    void drop();

    /// From now on whoever connects is refused, and its connections have ended; until start().
    void stop();
    void start();

    Handler handler;                               ///< null: fallback()
    std::function<void(ScriptedClient&)> welcome;  ///< called for each new connection; may be null
    std::size_t piece = 0;                         ///< replies arrive in pieces of so many bytes; 0: whole

private:
    friend class ScriptedClient;

    void on_accept(const std::shared_ptr<Wire>& wire) override;
    void on_bytes(const std::shared_ptr<Wire>& wire, std::string_view bytes) override;
    void on_gone(const std::shared_ptr<Wire>& wire) override;
    void remove(const ScriptedClient& client);

    Events& events_;
    Network& network_;
    const std::string address_;
    Link& link_;
    std::size_t accepted_ = 0;
    std::vector<Command> commands_;
    std::vector<std::shared_ptr<ScriptedClient>> clients_;
};

/// A connection to a scripted server, as its handler sees it.
class ScriptedClient : public std::enable_shared_from_this<ScriptedClient> {
public:
    ScriptedClient(Scripted& server, const std::shared_ptr<Wire>& wire, std::size_t number);

    /// Which connection of the server it is, from 1 on.
    std::size_t number() const noexcept { return number_; }

    /// Bytes at once, past the order of replies.
    void send(const std::string& bytes);

    /// The connection ends as soon as what is to be answered has left; what is sent to it is not answered.
    void close();

    /// It ends now, by reset: nothing that waits leaves. What a handler returns after it is lost.
    ScriptedReply reset();

    /// The reply of that server to this command, over a connection of this client's own.
    std::string relay(Redis& to, const Command& words);

private:
    friend class Scripted;

    /// The place of a reply in the order.
    struct Place {
        ScriptedReply reply;
        bool ready;
    };

    void receive(std::string_view bytes);
    void answer(const Command& words);
    void release(const std::string& gate);
    void flush();

    Scripted& server_;
    std::weak_ptr<Wire> wire_;
    const std::size_t number_;
    std::string rest_;  // a command that is not complete
    std::vector<std::shared_ptr<Place>> places_;
    std::map<const Redis*, std::shared_ptr<void>> sessions_;
    bool closing_ = false;
    bool gone_ = false;
};

// Replies in RESP2.

std::string simple(std::string_view text);
std::string nil();
std::string integer(std::int64_t number);
std::string bulk(std::string_view text);
std::string error(std::string_view text);
std::string array(const std::vector<std::string>& encoded);

/// An array of integers, as scripts answer.
std::string integers(const std::vector<std::int64_t>& numbers);

/// The fields `used` and `reset` of a window; empty: there is no such field.
std::string hmget(std::optional<std::int64_t> used, std::optional<std::int64_t> reset);

/// The answers of a fresh server without any key: PING, AUTH, SELECT, CLIENT, READONLY, READWRITE, ASKING; an
/// error to all else.
std::string fallback(const Command& words);

// Commands by their form.

/// It charges or reserves: HINCRBY, or a script.
bool is_write(const Command& words);

/// A call of a script for a batch of tokens, or for a refund, that has a number: it can be made again.
bool is_batch(const Command& words);
bool is_refund(const Command& words);

// Handlers.

/// Answers each read so, and nothing else.
Handler reading(std::optional<std::int64_t> used, std::optional<std::int64_t> reset);

/// Holds each read at `gate`, of no window then; takes charges.
Handler holding_reads();

/// Knows no window. What the function returns answers the nth write, from 1 on; `taken` says that it was
/// taken, for a window that ends at `reset`.
using Taking =
    std::function<ScriptedReply(std::size_t nth, ScriptedClient& client, const std::string& taken)>;
Handler taking(Millis reset, Taking answer);

/// Answers reservations as lua/reserve.lua does, of windows that end at `reset`; while `slow` is true it
/// holds the answers at `gate`. `slow` outlives the handler.
Handler reserving(Millis reset, const bool& slow);

/// A simulated server executes each command; what the function returns is answered: `answer`, or what the
/// test wants. The greeting is answered as by a server without a password. `to` may be set to another server;
/// null: the connection is reset.
using Relaying =
    std::function<ScriptedReply(const Command& words, ScriptedClient& client, std::string answer)>;
Handler relaying(Redis& to, Relaying answer);
Handler relaying_to(Redis*& to, Relaying answer);

/// Relays, but holds answers to refunds at `gate`.
Handler holding_refunds(Redis& to);

}  // namespace rate_limit::world
