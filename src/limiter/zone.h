#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "core/counts/counter_table.h"
#include "core/counts/debt_counts.h"
#include "core/counts/hot_keys.h"
#include "core/counts/last_hour.h"
#include "core/counts/looked_up.h"
#include "core/counts/node_board.h"
#include "core/counts/offenders.h"
#include "core/counts/running_counts.h"
#include "core/counts/seen_rates.h"
#include "core/machine/records.h"
#include "core/machine/records/debt_record.h"
#include "core/machine/windows/used_up_windows.h"
#include "core/machine/workers/shared_walk.h"
#include "core/machine/workers/worker_places.h"
#include "core/overrides/override_table.h"
#include "core/slots/shared_slots.h"
#include "core/table/layout_mark.h"
#include "limiter/loop.h"

namespace rate_limit {

/// The shared memory of all limits, as one configuration sees it: what the machine remembers of its windows,
/// and the charges that wait for a primary. It outlives the configuration while the next one asks for the
/// same size. Lives in the configuration's pool.
class Zone {
public:
    static constexpr std::size_t default_size = std::size_t{10} * 1024 * 1024;
    static constexpr std::size_t least_size = std::size_t{128} * 1024;

    /// The memory as whoever makes it describes it.
    struct Made {
        std::size_t size;       ///< in bytes, as configured: what operators are told
        std::size_t workers;    ///< how many processes will use it at a time, but for reloads
        HashKey key;            ///< random
        std::uint64_t machine;  ///< random
    };

    /// Lays out `size` bytes at `at`, which are all zero, aligned for any type, and outlive this. False: they
    /// are too few.
    bool create(void* at, std::size_t size, const Made& made) noexcept;

    /// Takes up the memory of a former configuration. False: another version of the module has laid it out.
    bool adopt(const Zone& previous) noexcept;

    /// Whether both are of one memory.
    bool shares_memory(const Zone& other) const noexcept { return head_ == other.head_; }

    /// Tells the workers of this configuration that the next one has other memory, or none: nobody looks into
    /// this after them.
    void mark_replaced() const noexcept { fixed_->replaced.store(true, std::memory_order_relaxed); }
    bool replaced() const noexcept { return fixed_->replaced.load(std::memory_order_relaxed); }

    /// Whether the last that a worker has said of such a zone is that so much is left in it, 0 at first; now
    /// one says so.
    bool told_left_behind(std::uint64_t left) noexcept {
        return fixed_->told.exchange(left, std::memory_order_relaxed) == left;
    }

    /// To be called in each process that uses it.
    void enter_process() noexcept { (void)attach(); }

    /// When it was made: counts are those since then.
    Millis since() const noexcept { return head_->since; }

    /// This process leaves. True if no worker stays, now or since an earlier call: nobody else will take up
    /// waiting charges, nor spend tokens at hand, but others that leave. A new worker may not have begun yet.
    bool leave() noexcept;
    bool is_last() const noexcept { return last_; }

    WindowTable& windows() noexcept { return windows_; }
    const WindowTable& windows() const noexcept { return windows_; }
    DebtTable& debts() noexcept { return debts_; }

    /// For each shard, how many records of debts() are charges or refunds that wait; notes of tokens do not
    /// count.
    DebtCounts& debt_counts() noexcept { return fixed_->debt_counts; }

    /// The workers' common way over debts(); noted() tells whether tokens are noted there.
    SharedWalk& walk() noexcept { return fixed_->walk; }

    LookedUp& looked_up() noexcept { return fixed_->looked_up; }

    /// A worker is about to note tokens in debts(): tells all workers, and this one by the call of
    /// on_more().
    void note_tokens() noexcept;

    /// This worker has sent something that was not answered, and will ask what became of it.
    void note_unanswered() noexcept;

    /// Charges or refunds of this worker wait in debts(), or a slot of its requests has to go back: tells
    /// this worker, if it is leaving, by the same call.
    void note_waiting() noexcept;

    /// Sets what this process calls when there is more for it to do before it may leave, in any zone.
    static void on_more(void (*call)() noexcept) noexcept;

    /// The slots of running requests, as this worker uses them; empty: more processes use them already than
    /// the zone has places for.
    std::optional<SharedSlots> slots() noexcept;

    /// Finds out whether workers have died, so that what they had running does not count any more. To be
    /// called several times a second, by all workers: one of them in `period` milliseconds asks the system
    /// about each.
    void find_dead(std::uint32_t ticks, std::uint32_t period) noexcept {
        if (places_.take_turn(ticks, period)) {
            places_.find_dead(lock_user().is_alive);
        }
    }
    const WorkerPlaces& places() const noexcept { return places_; }

    /// How many requests run, and slots are held, of each limit.
    RunningCounts& running_counts() noexcept { return running_; }
    void make_room_for_running(const std::vector<std::uint64_t>& limits) noexcept {
        running_.make_room(limits, places_);
    }
    std::uint64_t running(RunningCounts::Column column) const noexcept {
        return running_.running(places_, column);
    }

    /// A request of this process, which has a slot, runs, or ends.
    void count_running(RunningCounts::Column column) noexcept {
        if (place_) {
            running_.enter(*place_, places_.owner_of(*place_), column);
        }
    }
    void uncount_running(RunningCounts::Column column) noexcept {
        if (place_) {
            running_.leave(*place_, places_.owner_of(*place_), column);
        }
    }

    /// True for one worker after workers have died: it corrects all records of running requests.
    bool take_correction() noexcept { return place_ && places_.take_correction(); }

    /// The process ends: none of its requests runs any more.
    void leave_place() noexcept;

    /// Random: tells this machine, until its memory is made anew, from all others that hold slots.
    std::uint64_t machine() const noexcept { return head_->made.machine; }

    /// Windows of Redis stores that were lately seen used up.
    UsedUpWindows& used_up() noexcept { return fixed_->used_up; }

    /// Bytes of the whole, and of its parts: for windows, for waiting charges, and for counters and all else.
    std::size_t size() const noexcept { return head_->made.size; }
    struct Part {
        std::string_view name;
        std::size_t bytes;
    };
    std::array<Part, 3> parts() const noexcept {
        return {{{"windows", window_bytes_},
                 {"waiting", debt_bytes_},
                 {"counters", size() - window_bytes_ - debt_bytes_}}};
    }

    /// The counters of all workers since the zone was made.
    CounterTable& counters() noexcept { return counters_; }

    /// The nodes that workers use, as they know them.
    NodeBoard& nodes() noexcept { return nodes_; }

    /// Decisions of each limit in each minute of the last hour.
    LastHour& last_hour() noexcept { return last_hour_; }

    /// The keys that limits reject most often.
    Offenders& offenders() noexcept { return offenders_; }

    /// The keys of the commands that workers send.
    HotKeyBoard& hot_keys() noexcept { return hot_keys_; }

    /// Overrides that operators have set for a while, for limits and keys.
    OverrideTable& overrides() noexcept { return overrides_; }

    /// The rates that limits of variable rates have had.
    SeenRates& seen_rates() noexcept { return seen_rates_; }
    const SeenRates& seen_rates() const noexcept { return seen_rates_; }

private:
    /// Changes with the layout of the whole, or of any part.
    static constexpr std::uint64_t version = 7;

    struct alignas(LayoutMark::alignment) Head {
        LayoutMark mark;
        Made made;
        Millis since;
    };

    /// Objects before the parts.
    struct alignas(LayoutMark::alignment) Fixed {
        UsedUpWindows used_up;
        DebtCounts debt_counts;
        SharedWalk walk;
        LookedUp looked_up;
        std::atomic<bool> replaced{false};   // see replaced()
        std::atomic<std::uint64_t> told{0};  // see told_left_behind()
    };

    template <typename UseTable>
    bool use_parts(std::size_t size, UseTable&& use_table) noexcept;
    bool attach() noexcept;
    void seek_a_place() noexcept;

    bool last_ = false;
    std::optional<std::size_t> place_;  // this process's, among places_
    std::uint32_t place_sought_ = 0;    // when this process last looked for one; 0: not yet
    std::uint32_t deaths_sought_ = 0;   // places().deaths() then
    Head* head_ = nullptr;
    Fixed* fixed_ = nullptr;
    std::size_t window_bytes_ = 0;
    std::size_t debt_bytes_ = 0;

    // The parts; Zone::use_parts() says in which order they lie, and of how many bytes.
    WindowTable windows_{LockUser{}};
    DebtTable debts_{LockUser{}};
    CounterTable counters_;
    NodeBoard nodes_;
    LastHour last_hour_;
    Offenders offenders_;
    HotKeyBoard hot_keys_;
    OverrideTable overrides_;
    SeenRates seen_rates_;
    WorkerPlaces places_;
    RunningCounts running_;
};

}  // namespace rate_limit
