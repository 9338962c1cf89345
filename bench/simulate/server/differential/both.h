#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "bench/simulate/server/differential/chance.h"
#include "bench/simulate/server/differential/in_words.h"
#include "bench/simulate/server/differential/real_server.h"
#include "bench/simulate/server/server.h"
#include "redis/command.h"

namespace rate_limit::simulated {

/// Which keys are there, and for what.
enum class Kind : unsigned char { window, crowd, bucket, slots };

struct Keys {
    KeyId first;
    std::int64_t count;
};
constexpr std::array<Keys, 4> keys_of{{{0, 20}, {20, 3}, {23, 14}, {37, 10}}};
constexpr KeyId key_count = 47;

/// A real server and a simulated one, which get the same commands at the same time by their clocks. A command
/// is executed by the simulated server when it is chosen, and answered by the real one at the end of its
/// batch.
class Both {
public:
    Both(const std::string& clock, std::uint64_t seed);

    Chance& chance() noexcept { return chance_; }
    CommandWriter& writer() noexcept { return writer_; }
    Server& simulated() noexcept { return servers_[primary_]; }
    Micros clock() const noexcept { return clock_; }
    Millis now() const noexcept { return clock_ / 1000; }

    /// One of these keys: often the one that was damaged last, as the next call should find that; now and
    /// then one of others.
    KeyId choose(Kind kind);

    /// The clock of some machine: not far from that of the server, as a rule.
    Micros machine_clock();

    static const std::string& name(KeyId key);

    /// `command` is on its way; `expected` is what the simulated server has answered.
    void send(KeyId key, std::string_view command, std::string expected);

    /// The same of the words of a command that does damage.
    void send(KeyId key, const std::vector<std::string>& words, std::string expected);

    /// The answers to all that was sent. False if one differs, which it prints.
    bool compare_answers();

    /// What all keys hold, and for how long, also on the replica. False if it differs, which it prints. Then
    /// the replica becomes the simulated server.
    bool compare_states();

    /// Between batches.
    void advance(Micros by);

    /// All keys that the simulated server holds, for the caller to see that there was something to compare.
    std::uint64_t states_compared() const noexcept { return states_compared_; }
    std::uint64_t answers_compared() const noexcept { return answers_compared_; }

private:
    struct Sent {
        KeyId key;
        std::string expected;
    };

    bool compare_state(KeyId key, const std::string& real);
    void follow();
    void fail_over() noexcept;
    void print_history(KeyId key) const;

    Chance chance_;
    Micros clock_;
    RealServer real_;
    Journal journal_;
    std::array<Server, 2> servers_;  // a primary and its replica
    std::size_t primary_ = 0;
    CommandWriter writer_;
    KeyId damaged_ = 0;
    std::vector<Sent> sent_;
    std::array<std::deque<std::string>, key_count> history_;
    std::uint64_t states_compared_ = 0;
    std::uint64_t answers_compared_ = 0;
};

}  // namespace rate_limit::simulated
