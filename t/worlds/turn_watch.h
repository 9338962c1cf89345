#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "t/world/loop.h"
#include "t/worlds/event_log.h"
#include "t/worlds/far_truths.h"
#include "t/worlds/plan.h"
#include "t/worlds/region_lines.h"
#include "t/worlds/told_losses.h"
#include "t/worlds/truths.h"

namespace rate_limit::world {

/// Sees how much workers do: no turn does more than its slices, and no server is stormed, whatever befalls a
/// world.
class TurnWatch final : public TurnObserver {
public:
    /// Watches all loops until its end. All outlive it.
    TurnWatch(const Events& events, const Plan& plan, ToldLosses& losses, FarTruths& far, Truths& truths,
              EventLog& log);
    ~TurnWatch();
    TurnWatch(const TurnWatch&) = delete;
    TurnWatch& operator=(const TurnWatch&) = delete;

    /// A request begins, is decided, or ends: reasons to ask servers.
    void count_reason();

    /// At the end: a world in which no worker has told of its slices has asked nothing of them.
    void check_seen();

private:
    /// All that a server was sent in one second, by all workers.
    struct Asked {
        Micros second = 0;
        std::uint64_t commands = 0;
        std::uint64_t connections = 0;
    };

    /// The work of one turn of a worker so far.
    struct Done {
        std::uint64_t walks = 0;
        std::uint64_t waited = 0;
        std::uint64_t expired = 0;
    };

    void on_command(const std::string& address, std::string_view command) override;
    void on_connect(const std::string& address) override;
    void on_fate(std::string_view command, const Reply* reply) override { losses_.note(command, reply); }
    void on_line(LogLevel level, std::string_view line) override;
    void on_debug_line(std::string_view line) override;
    void on_end_of_turn(const Loop& loop) override;

    Asked& asked(const std::string& address);
    void begin_second();
    std::uint64_t reasons() const;
    void check(std::uint64_t done, std::uint64_t most, const std::string& what);

    std::uint64_t started() const noexcept;

    const Events& events_;
    const Plan& plan_;
    ToldLosses& losses_;
    FarTruths& far_;
    Truths& truths_;
    EventLog& log_;
    RegionLines lines_;
    const std::uint64_t questions_;
    const std::uint64_t windows_;    // all keys of all limits
    const std::uint64_t processes_;  // workers, with those that are replaced and still leave
    const std::uint64_t tokens_;     // windows of which machines may have some
    const std::uint64_t primaries_;
    const std::size_t remembered_;  // seconds whose reasons to ask still count
    Micros second_ = 0;
    std::deque<std::uint64_t> reasons_{0};  // in this second, then in those before
    std::unordered_map<std::string, Asked> asked_;
    Done turn_;
    std::uint64_t walks_ = 0;
};

}  // namespace rate_limit::world
