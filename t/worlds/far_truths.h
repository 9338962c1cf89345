#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "t/world/client_request.h"
#include "t/worlds/reach.h"
#include "t/worlds/truths.h"

namespace rate_limit::world {

/// The truths that must hold where sites are apart, beside all that holds everywhere:
///
/// - A read takes as long as the nearest replica that lives, and not longer: also where a nearer one has died
///   and is known not to answer, and from two seconds after it is back.
/// - Reads do not go to and fro between replicas that are not about as near more than once a second, while
///   nothing happens.
/// - Until the first fault nothing is logged as an error.
///
/// In worlds of one site nothing is asked.
class FarTruths {
public:
    /// All outlive it.
    FarTruths(const Events& events, Network& network, const Plan& plan, Servers& servers, Machines& machines,
              Truths& truths);

    /// To be called every few milliseconds.
    void look() {
        if (asks_) {
            reach_.look();
        }
    }

    /// A fault begins, or ends: to be called behind that.
    template <typename Kind>
    void touch(const Fault<Kind>& fault) {
        if (asks_) {
            reach_.touch(fault);
            reach_.look();
        }
    }

    // Acts of the worker whose turn it is.

    void on_command(const std::string& address, std::string_view command);
    void on_connect(const std::string& address);
    void on_line(LogLevel level, std::string_view line);

    /// A request begins in this turn, which ends with end_begin(): the servers that are asked meanwhile are
    /// the first choice.
    void begin() noexcept { begins_ = true; }
    void end_begin() noexcept { begins_ = false; }

    /// It is decided, in that turn.
    void decided(const ClientRequest& request, Micros begun);

private:
    /// The dealings of a worker with a server that is as it is since then.
    struct Met {
        Micros since = 0;
        bool slow = false;                  // see Reach::State
        Micros certain = 0;                 // of that
        bool measured = false;              // it was known how long it takes, when it became as it is
        bool knew_it_dead = false;          // it was found dead before that, and was tried again and again
        Micros asked = Reach::never;        // when it was asked first; another connection may be begun before
        Micros looked = -second;            // when a replica of its set was looked at
        int reads = 0;                      // of its set, since then
        std::size_t looks = 0;              // so many were looked at
        Micros measured_by = Reach::never;  // by then there were so many that all servers were looked at
    };

    /// The last server that a worker has chosen, of one set, and when it chose another one.
    struct Choice {
        std::size_t server;
        std::array<Micros, 2> changes;  // the latest first
    };

    Met& meet(std::size_t server);
    Met next(const Met& before, std::size_t server) const;
    bool has_exact_clock() const noexcept;
    static void begin_looks(Met& met) noexcept;
    void count_read(Met& met, const Reach::Members& members) const noexcept;
    void note_asked(std::size_t server);
    void choose(std::size_t server);
    bool is_apart(std::size_t machine, std::size_t one, std::size_t other) const;
    bool is_quiet(std::size_t machine, std::size_t set, Micros since);
    bool knows(std::size_t machine, std::size_t server, Micros begun);
    bool knows_it_dead(std::size_t machine, std::size_t server, Micros begun, Micros near);
    std::optional<Micros> longest_read(std::size_t machine, std::size_t set, Micros begun);
    std::optional<Micros> longest_read(const ClientRequest& request, Micros begun);
    std::optional<Micros> longest_read(const AppliedLimit& applied, std::size_t machine, Micros begun);
    std::optional<Micros> longest_read_of_key(const AppliedLimit& applied, std::size_t machine, Micros begun);

    const Events& events_;
    const Plan& plan_;
    Truths& truths_;
    Reach reach_;
    const bool asks_;
    bool begins_ = false;
    Micros first_failure_ = Reach::never;
    std::map<std::string, std::size_t> numbers_;                       // of servers, by their addresses
    std::map<std::uint32_t, Micros> started_;                          // workers, by their processes' numbers
    std::map<std::pair<std::uint32_t, std::size_t>, Met> met_;         // by worker and server
    std::map<std::pair<std::uint32_t, std::size_t>, Choice> choices_;  // by worker and set
};

}  // namespace rate_limit::world
