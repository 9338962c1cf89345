#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "bench/simulate/server/journal.h"
#include "bench/simulate/server/keyspace.h"
#include "bench/simulate/server/scripts.h"
#include "redis/bucket_reply.h"

namespace rate_limit::simulated {

enum class Command : unsigned char {
    check,            ///< HMGET key used reset
    increment,        ///< HINCRBY key used
    take,             ///< BITFIELD of two steps
    take_of_filling,  ///< BITFIELD of one
    charge,           ///< from here on scripts
    repair,
    refund,
    reserve,
    bucket,
    hold,
};
constexpr std::size_t command_count = static_cast<std::size_t>(Command::hold) + 1;

/// The answer to a command: `value` where there is no fault.
template <typename T>
struct Answered {
    Fault fault = Fault::none;
    T value{};
    bool replaced = false;  ///< another type has given way, and the script says so
};

/// The answer to a check, as it is stored.
struct StoredWindow {
    Text used;
    Text reset;
};

/// The window that read_check() makes of the answer.
Window window_of(const StoredWindow& stored) noexcept;

/// The answer to CommandWriter::take(), or of take_of_filling(), which has no `before`.
struct Taken {
    std::int64_t before = 0;  ///< by how much the instant was ahead
    std::int64_t after = 0;   ///< the instant, with the sign of lua/bucket.lua where that has made it
};

/// The draw that read_draw() makes of an answer; `now` is the machine's.
Drawn drawn_of(const BucketAnswer& answer, Millis now) noexcept;

/// A Redis server in virtual time: what the module sends to it, and what it then answers and holds. The
/// caller says with each command what the server's own clock shows, in microseconds; nothing else moves it.
/// Commands of CommandWriter have its arguments, but that the key is a number (Opening::key is not read).
///
/// A new server is a primary. A replica answers reads alone, and gets what a primary's Journal has by
/// follow(): with `until` = now - lag it is behind by `lag`. A failover is follow() of what had arrived, then
/// lead(): what was written later is lost. A server that is restarted with an old snapshot, or with none, is
/// copy() of a replica that has followed as the disk would have, or clear().
class Server {
public:
    /// From now on a primary, which adds its writes to `journal`, if it is not null; that must outlive it.
    void lead(Journal* journal) noexcept;

    /// From now on a replica: writes fail with Fault::readonly. It goes on from this position of a journal.
    void follow_from(std::uint64_t position) noexcept;

    /// Takes over all writes that the primary has done until this time, also by its clock.
    void follow(const Journal& journal, Micros until);

    /// The first write that it has not got yet.
    std::uint64_t position() const noexcept { return position_; }

    /// Becomes a copy of all keys of another one.
    void copy(const Server& other) { keys_ = other.keys_; }
    void clear() noexcept { keys_.clear(); }

    Answered<StoredWindow> check(KeyId key, Micros clock);
    Answered<std::int64_t> increment(KeyId key, Micros clock, std::int64_t cost);
    Answered<Window> charge(KeyId key, Micros clock, const Opening& opening, std::int64_t cost);
    Answered<Window> repair(KeyId key, Micros clock, const Opening& opening);
    Answered<Window> refund(KeyId key, Micros clock, std::int64_t cost, Millis reset,
                            const Numbered& numbered = {}, Emptied emptied = Emptied::closes);
    Answered<Reserved> reserve(KeyId key, Micros clock, const Opening& opening, const Wanted& wanted);
    Answered<BucketAnswer> draw(KeyId key, Micros clock, const Draw& draw, Micros told = asks_for_time);
    Answered<Held> hold(KeyId key, Micros clock, const Hold& hold, Micros told = asks_for_time);

    /// `now`: see CommandWriter.
    Answered<Taken> take(KeyId key, Micros clock, Nanos now, Nanos cost);
    Answered<Taken> take_of_filling(KeyId key, Micros clock, Nanos cost);

    // Commands of others on a key. They are not counted.
    Fault hset(KeyId key, Micros clock, std::string_view field, std::string_view text);
    Fault hdel(KeyId key, Micros clock, std::string_view field);
    Fault set(KeyId key, Micros clock, std::string_view bytes);
    Fault del(KeyId key, Micros clock);
    Fault pexpire(KeyId key, Micros clock, Millis life);
    Fault persist(KeyId key, Micros clock);

    /// The value that a key holds now, and how long it lives, as Call::pttl(). Null: no such key.
    const Value* look(KeyId key, Micros clock) const noexcept;
    Millis pttl(KeyId key, Micros clock) const noexcept;

    /// How often it was called, also where that failed.
    std::uint64_t calls(Command command) const noexcept { return calls_[static_cast<std::size_t>(command)]; }
    std::uint64_t calls() const noexcept;
    void forget_calls() noexcept { calls_ = {}; }

    const Keyspace& keys() const noexcept { return keys_; }

private:
    template <typename Answer>
    auto run(KeyId key, Micros clock, Answer answer) -> Answered<decltype(answer(std::declval<Call&>()))>;

    template <typename Change>
    Fault change(KeyId key, Micros clock, Change change);

    void count(Command command) noexcept { ++calls_[static_cast<std::size_t>(command)]; }

    Keyspace keys_;
    Journal* journal_ = nullptr;
    bool replica_ = false;
    std::uint64_t position_ = 0;
    std::array<std::uint64_t, command_count> calls_{};
};

}  // namespace rate_limit::simulated
