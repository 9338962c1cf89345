#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "redis/command.h"
#include "t/differential/real_server.h"
#include "t/world/chance.h"
#include "t/world/server_session.h"

namespace rate_limit::world {

/// Which keys are there, and for what.
enum class Kind : unsigned char { window, crowd, bucket, slots, overrides };

using KeyId = std::uint64_t;

struct Keys {
    KeyId first;
    std::int64_t count;
};
constexpr std::array<Keys, 5> keys_of_kind{{{0, 20}, {20, 3}, {23, 14}, {37, 10}, {47, 4}}};
constexpr KeyId key_count = 51;

std::string encoded(const std::vector<std::string>& words);

/// Printable, with what is not as \xx.
std::string readable(std::string_view bytes);

/// A real server and two simulated ones, a primary and its replica. The first two get the same bytes at the
/// same time by their clocks. The simulated one answers when a command is chosen, the real one at the end of
/// its batch. The replica gets what the primary says it has changed.
class Both {
public:
    Both(const std::string& clock, std::uint64_t seed);

    Chance& chance() noexcept { return chance_; }
    CommandWriter& writer() noexcept { return writer_; }
    Server& simulated() noexcept { return *servers_[primary_]; }
    RealServer& real() noexcept { return real_; }
    Micros clock() const noexcept { return clock_; }
    Millis now() const noexcept { return clock_ / 1000; }

    /// One of these keys: often the one that was damaged last, as the next call should find that; now and
    /// then one of others.
    KeyId choose(Kind kind);

    /// The clock of some machine: not far from that of the server, as a rule.
    Micros machine_clock();

    static const std::string& name(KeyId key);

    /// Sends a command. Returns the answer of the simulated server; the real one is to give it, too.
    std::string send(KeyId key, std::string_view command);

    /// Sends the words of a command that does damage.
    std::string send(KeyId key, const std::vector<std::string>& words);

    /// Sends the words of a command that concerns no key.
    std::string send(const std::vector<std::string>& words) { return send(key_count, encoded(words)); }

    /// The answers to all that was sent. False if one differs, which it prints.
    bool compare_answers();

    /// Compares what all keys hold, and for how long, also on the replica. False if it differs, which it
    /// prints. Then the replica becomes the primary.
    bool compare_states();

    /// From now on with new connections.
    void reconnect();

    /// Between batches.
    void advance(Micros by);

    /// The text in a field of a hash, as the simulated server has it until the next command; null where there
    /// is none. And the same as a number.
    const std::string* stored_text(KeyId key, std::string_view field);
    std::optional<std::int64_t> stored_number(KeyId key, std::string_view field);

    /// How long a key lives; below 0 where it does not expire, or is not there.
    Millis life_of(KeyId key);

    std::uint64_t states_compared() const noexcept { return states_compared_; }
    std::uint64_t answers_compared() const noexcept { return answers_compared_; }

private:
    struct Sent {
        KeyId key;
        std::string command;
        std::string expected;
    };

    std::string ask(std::size_t server, std::string_view command);
    bool compare(const Sent& sent);
    void load_scripts(std::size_t server);
    void fail_over();
    void print_history(KeyId key) const;

    Chance chance_;
    Micros clock_;
    RealServer real_;
    std::array<std::unique_ptr<Server>, 2> servers_;
    std::array<std::unique_ptr<Session>, 2> sessions_;
    std::size_t primary_ = 0;
    std::vector<Effect> effects_;
    CommandWriter writer_;
    KeyId damaged_ = 0;
    std::vector<Sent> sent_;
    std::array<std::deque<std::string>, key_count + 1> history_;
    std::uint64_t states_compared_ = 0;
    std::uint64_t answers_compared_ = 0;
};

}  // namespace rate_limit::world
