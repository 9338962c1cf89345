#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bench/simulate/charges.h"
#include "bench/simulate/fetches.h"
#include "bench/simulate/link.h"
#include "core/machine/used_up_windows.h"
#include "core/machine/window_account.h"

namespace rate_limit::simulated {

class Machine;
class World;

/// One look at a note of tokens, when it is due.
struct NextLook final : Happening {
    void happen() override;

    World* world = nullptr;
    Machine* machine = nullptr;
    Key key = 0;
};

struct Channel {
    Channel(World& world, Worker& worker, Shard& shard);

    simulated::Link primary;
    simulated::Link replica;
    Charges charges;
    Fetches fetches;
};

/// One nginx worker.
class Worker {
public:
    Worker(World& world, Machine& machine);

    Machine& machine() const noexcept { return machine_; }
    Channel& channel(Key key) noexcept;

    /// Grows by one with each kill: what belonged to an earlier life is nobody's any more.
    std::uint32_t life() const noexcept { return life_; }

    /// By which the scripts tell it from others.
    std::string_view name() const noexcept { return name_; }
    std::int64_t next_number() noexcept;

    void kill();

    template <typename Fn>
    void for_each_channel(Fn&& fn) {
        for (Channel& channel : channels_) {
            fn(channel);
        }
    }

private:
    void be_born();

    World& world_;
    Machine& machine_;
    std::deque<Channel> channels_;
    std::uint32_t life_ = 0;
    std::string_view name_;
    std::int64_t number_ = 0;
};

/// The zone's memory of windows.
class Zone {
public:
    explicit Zone(std::size_t records);
    Zone(const Zone&) = delete;
    Zone& operator=(const Zone&) = delete;
    ~Zone();

    WindowTable& windows() noexcept { return windows_; }
    UsedUpWindows& used_up() noexcept { return used_up_; }

private:
    std::size_t size_;
    void* memory_;
    WindowTable windows_;
    UsedUpWindows used_up_;
};

/// One machine: a zone, the workers that share it, and a clock.
class Machine final {
public:
    Machine(World& world, std::size_t number, Micros clock_ahead);
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;

    std::size_t number() const noexcept { return number_; }
    Millis now() const noexcept;
    WindowTable& windows() noexcept { return zone_->windows(); }
    UsedUpWindows& used_up() noexcept { return zone_->used_up(); }
    std::vector<std::unique_ptr<Worker>>& workers() noexcept { return workers_; }

    Terms terms() const noexcept;

    /// The question about a window that the primary is asked, with what is known of it.
    Question question(Key key, std::uint32_t events) const noexcept;

    // Charges and refunds that wait for a primary.
    void wait(Key key, const Debt& owed);
    bool has_waiting() const noexcept { return !charges_waiting_.empty() || !refunds_waiting_.empty(); }
    void take_waiting(Key& key, Debt& owed);

    /// Notes tokens, as Fetches::note() does in the module.
    void note(Key key, Millis reset, std::int64_t tokens);

    /// Looks after noted tokens, when the workers' common walk comes to them.
    void look(Key key);

    void kill_worker(std::size_t worker) { workers_[worker]->kill(); }

    /// Power loss: it begins anew, with an empty zone.
    void kill();

private:
    struct Note {
        Millis reset = 0;
        std::int64_t cost = 0;
        Millis looked_at = 0;
    };

    void schedule_look(Key key, const Note& note);
    std::int64_t take_unneeded(Key key, Note& note);

    World& world_;
    const std::size_t number_;
    const Micros ahead_;
    const Micros walks_at_;  // offset within each interval of walks
    std::unique_ptr<Zone> zone_;
    std::vector<std::unique_ptr<Worker>> workers_;
    std::map<Key, Debt> charges_waiting_;
    std::map<std::pair<Key, Millis>, Debt> refunds_waiting_;
    std::unordered_map<Key, Note> notes_;
};

}  // namespace rate_limit::simulated
