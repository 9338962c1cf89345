#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "limiter/loop.h"
#include "limiter/worker.h"
#include "t/world/events.h"

namespace rate_limit {
struct Configuration;
struct Reply;
}  // namespace rate_limit

namespace rate_limit::world {

/// The wall clock of a machine, as far as it differs from UTC. It never changes how fast time passes for
/// timers.
struct WallClock {
    Micros ahead = 0;    ///< of UTC, when the world began
    Micros drift = 0;    ///< microseconds that it gains in each second; below 0: loses
    Micros stepped = 0;  ///< it has been set forward by so much, or below 0 back

    /// Its workers read it up to so much before they run: another process may run in between.
    Micros read_before = 0;

    Micros ahead_at(Micros now) const noexcept { return ahead + stepped + now / 1'000'000 * drift; }
};

class Loop;

/// Sees what workers do in their turns.
class TurnObserver {
public:
    /// A command leaves for the server at this address. `command`: its bytes.
    virtual void on_command(const std::string& address, std::string_view command) = 0;

    /// `command`: its bytes. `reply` null: the connection has ended before its answer.
    virtual void on_fate(std::string_view command, const Reply* reply) = 0;

    /// A connection to it is begun.
    virtual void on_connect(const std::string& address) = 0;

    /// A line of the log, but for those that are for developers alone.
    virtual void on_line(LogLevel level, std::string_view line) = 0;

    /// A line that is for developers alone.
    virtual void on_debug_line(std::string_view line) = 0;

    /// The turn is over in which all that was.
    virtual void on_end_of_turn(const Loop& loop) = 0;

protected:
    ~TurnObserver() = default;
};

/// The event loop of one simulated worker: the other side of limiter/loop.h. It outlives every Timer of its
/// worker.
class Loop {
public:
    static constexpr Millis usual_wall_clock = 1'800'000'000'000;

    /// `pid` tells workers of one machine apart; 0: nobody else asks. `wall_clock`: UTC when the world began.
    explicit Loop(Events& events, std::uint32_t pid = 0, Millis wall_clock = usual_wall_clock);
    ~Loop();
    Loop(const Loop&) = delete;
    Loop& operator=(const Loop&) = delete;

    /// The loop whose turn it is; of several, the one that was made last while no turn has begun.
    static Loop& current() noexcept { return *current_; }

    /// It is this loop's turn from now on.
    void enter() noexcept {
        current_ = this;
        Worker::enter(worker_);
    }

    /// One turn: this loop is the current one, and at its end runs what was put there.
    template <typename Call>
    void turn(Call&& call) {
        Loop* const before = current_;  // null: the last one to run has ended
        enter();
        if (depth_++ == 0) {
            read_clock();
        }
        call();
        end_turn();
        if (--depth_ == 0 && observer_ != nullptr) {
            observer_->on_end_of_turn(*this);
        }
        if (before != nullptr) {
            before->enter();
        }
    }

    /// The observer of all loops. Null: nobody looks. The observer outlives them, or is taken away before.
    static void observe(TurnObserver* observer) noexcept { observer_ = observer; }
    static TurnObserver* observer() noexcept { return observer_; }

    Events& events() const noexcept { return events_; }
    Msec now() const noexcept { return msec_of(read()); }

    /// The time as above, read now.
    Msec fresh() const noexcept { return msec_of(events_.now()); }

    /// The time as this turn has read it; between turns, as it is.
    Micros read() const noexcept { return depth_ != 0 ? read_at_ : events_.now(); }

    /// Timers that are due have seen the time.
    void read_clock_again() noexcept { read_at_ = events_.now(); }

    /// Lets so many milliseconds pass in its world.
    void pass(Msec wait) {
        turn([] {});
        events_.pass(static_cast<Micros>(wait) * 1000);
    }

    /// put_at_end(): the timer fires at the end of this turn. take_from_end(): it does not.
    std::uint64_t put_at_end(Timer& timer);
    void take_from_end(std::uint64_t number) { end_of_turn_.erase(number); }

    void write(std::string line) { lines_->push_back(std::move(line)); }

    /// Lines of the log since the last call.
    std::vector<std::string> take_lines() { return std::exchange(*lines_, {}); }

    /// The lines of this loop's log; who keeps them has those, too, that the worker writes when it ends.
    const std::shared_ptr<std::vector<std::string>>& lines() const noexcept { return lines_; }

    std::uint32_t random() noexcept;

    std::uint32_t pid() const noexcept { return pid_; }

    /// The process does not run for so long: what comes waits for it. Nothing is done while it stalls.
    void stall(Micros time) noexcept { stalled_until_ = stalls() ? stalled_until_ : events_.now() + time; }
    bool stalls() const noexcept { return events_.now() < stalled_until_; }
    Micros stalled_until() const noexcept { return stalled_until_; }

    static bool is_alive(std::uint32_t pid) noexcept;

    /// Counts the armed timers that keep the worker.
    void count_keeping(int more) noexcept { keeping_ += more; }
    bool is_kept() const noexcept { return keeping_ != 0; }

    bool leaving = false;              ///< is_leaving() returns it
    bool cut_off = false;              ///< nothing that it sends leaves the machine any more
    std::size_t number = 0;            ///< number_of_worker() returns it
    std::size_t connections = 512;     ///< most_connections() returns it
    std::uint32_t parent = 0;          ///< parent_pid() returns it: the pid of the process that made the zone
    std::size_t machine = 0;           ///< its number for Network::path()
    const WallClock* clock = nullptr;  ///< of its machine; null: UTC
    Millis wall_clock;  ///< UTC when the world began, by this machine's clock; a test may set it
    const Configuration* configuration = nullptr;  ///< configuration_at_work() returns it

private:
    static constexpr Msec first_msec = 1'000'000;

    static Msec msec_of(Micros now) noexcept { return first_msec + static_cast<Msec>(now / 1000); }
    void end_turn();
    void read_clock() noexcept;

    static Loop* current_;
    static TurnObserver* observer_;

    Events& events_;
    const std::uint32_t pid_;
    int keeping_ = 0;
    int depth_ = 0;       // of turns within turns
    Micros read_at_ = 0;  // when the clock was read for this turn
    Micros stalled_until_ = 0;
    Worker worker_;
    std::uint64_t put_ = 0;  // at the end of turns, so far
    std::map<std::uint64_t, Timer*> end_of_turn_;
    std::uint64_t random_ = 1;
    std::shared_ptr<std::vector<std::string>> lines_ = std::make_shared<std::vector<std::string>>();
};

}  // namespace rate_limit::world
