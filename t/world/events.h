#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

namespace rate_limit::world {

/// Microseconds: of virtual time, which is 0 when the world begins, or by the clock of a server, of the
/// epoch.
using Micros = std::int64_t;

constexpr Micros second = 1'000'000;

/// All that is still to happen in a world, in the order of time; at one instant first come, first served.
/// Time stands still until it is moved, so that nothing depends on how busy a machine is.
class Events {
public:
    /// When something is to happen, and which one it is among what happens then.
    using Place = std::pair<Micros, std::uint64_t>;

    /// `seed`: for what workers choose at random.
    explicit Events(std::uint64_t seed = 0) noexcept : seed_(seed) {}
    Events(const Events&) = delete;
    Events& operator=(const Events&) = delete;

    Micros now() const noexcept { return now_; }

    /// Lets it happen then; what lies in the past happens now, behind what happens now already.
    Place at(Micros when, std::function<void()> what);
    Place in(Micros time, std::function<void()> what) { return at(now_ + time, std::move(what)); }

    /// It does not happen. Nothing is done where it has.
    void cancel(const Place& place) { waiting_.erase(place); }

    /// Lets all happen that is due within `time` from now on.
    void pass(Micros time);

    /// A number for a process, which no other one in this world has.
    std::uint32_t new_pid() noexcept { return ++pids_; }

    std::uint64_t seed() const noexcept { return seed_; }

    /// How much has happened.
    std::uint64_t count() const noexcept { return count_; }

private:
    const std::uint64_t seed_;
    Micros now_ = 0;
    std::uint64_t order_ = 0;
    std::uint64_t count_ = 0;
    std::uint32_t pids_ = 0;
    std::map<Place, std::function<void()>> waiting_;
};

}  // namespace rate_limit::world
