#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/limit/bucket.h"
#include "core/limit/window.h"
#include "redis/script.h"

namespace rate_limit {

/// The window that a script is called for, which it opens if none is open.
struct Opening {
    std::string_view key;
    Millis now = 0;
    Millis proposed = 0;  ///< the reset of the window that opens
    Millis latest = 0;    ///< latest_reset() of its period at `now`
};

/// A call that may be made again under the same number where it was not answered, of a caller whose numbers
/// grow: see the scripts.
struct Numbered {
    std::string_view me;
    std::int64_t number = 0;  ///< 0: it is not numbered
};

/// A question to lua/reserve.lua: `want`, or what the limit leaves; at least `least`, or nothing; at most one
/// of `parts` parts of what is left, unless `least` is more.
struct Wanted {
    std::int64_t limit = 0;
    std::int64_t want = 0;
    std::int64_t least = 0;
    std::int64_t parts = 1;
    std::int64_t back = 0;  ///< given back first, to the window that is open, if that ends at `of` or before
    Millis of = 0;
    Numbered call{};
};

/// The fate of a window to which all is given back.
enum class Emptied : bool { closes, stays };

/// A question to lua/bucket.lua: `want` tokens, or what is there; at least `least`, or nothing. Taken in any
/// case with parts 0; put back where `want` is negative.
struct Draw {
    std::int64_t token = 1;  ///< nanoseconds to refill one
    std::int64_t fill = 1;   ///< and all
    std::int64_t want = 0;
    std::int64_t least = 0;
    std::int64_t parts = 1;
    BucketReceipt receipt{};  ///< for what is put back
};

/// A word to lua/hold.lua: machine `me` wants so many slots in all, and at least so many; see there.
struct Hold {
    std::string_view me;
    std::int64_t number = 0;
    std::int64_t limit = 0;
    std::int64_t want = 0;
    std::int64_t least = 0;
    Millis ttl = 0;
};

/// A word to lua/penalty.lua.
struct PenaltyOrder {
    bool of_bucket = false;
    Millis now = 0;   ///< for a window; a bucket's server tells its own time
    Millis life = 0;  ///< begins one that lasts so long, where none runs; 0: asks; or ends_penalty
};
constexpr Millis ends_penalty = -1;

/// Encodes one Redis command at a time as a RESP array, into a buffer that is reused: no allocation once it
/// has grown. The text stays valid until the next call.
class CommandWriter {
public:
    /// How log lines name a command to a key, and how its answer is read.
    struct Encoded {
        const char* name = "";  ///< the command, or the script that it calls: static text for log lines
        std::size_t words = 0;  ///< of the script's answer, where one more may say replaced_another_type()
        std::optional<Draw> draw{};  ///< the question to lua/bucket.lua, if it is one
    };

    /// The command that one of the functions below, from check() on, has encoded last.
    const Encoded& encoded() const noexcept { return encoded_; }

    /// Microseconds of the epoch: from now on scripts are told the time, as the server does not let them ask
    /// for it. 0: they ask.
    void tell_time(std::int64_t micros) noexcept { told_micros_ = micros; }

    std::string_view ping();
    std::string_view auth(std::string_view username,
                          std::string_view password);  ///< empty username: password only
    std::string_view select(std::int64_t database);
    std::string_view info_memory();
    std::string_view info_replication();
    std::string_view load(const Script& script);  ///< SCRIPT LOAD

    /// READONLY: from now on a cluster's replica answers checks on this connection.
    std::string_view readonly();

    /// READWRITE: the end of that. Until then a cluster's node that has become a replica runs scripts that
    /// write, which fail, and does not say where the slot is served.
    std::string_view readwrite();

    /// ASKING: a cluster's node takes the next command, and only that, for a slot that it is about to get.
    std::string_view asking();

    std::string_view cluster_slots();

    /// SENTINEL MASTER, REPLICAS and SENTINELS, of the primary that sentinels know as `name`.
    std::string_view sentinel_master(std::string_view name);
    std::string_view sentinel_replicas(std::string_view name);
    std::string_view sentinel_sentinels(std::string_view name);

    /// HMGET key used reset
    std::string_view check(std::string_view key);

    /// HINCRBY key used cost: only into a window known to be open.
    std::string_view increment(std::string_view key, std::int64_t cost);

    /// lua/charge.lua; by digest, or with its text (`with_text`) after NOSCRIPT. `least`: the window that
    /// ends at opening.proposed has so much without this cost, or gets it, and the answer says how much that
    /// was.
    std::string_view charge(const Opening& opening, std::int64_t cost, bool with_text = false,
                            std::optional<std::int64_t> least = std::nullopt);

    /// lua/repair.lua, in the same way.
    std::string_view repair(const Opening& opening, bool with_text = false);

    /// lua/reserve.lua, in the same way.
    std::string_view reserve(const Opening& opening, const Wanted& wanted, bool with_text = false);

    /// lua/bucket.lua, in the same way.
    std::string_view draw(std::string_view key, const Draw& draw, bool with_text = false);

    /// lua/hold.lua, in the same way.
    std::string_view hold(std::string_view key, const Hold& hold, bool with_text = false);

    /// lua/penalty.lua, in the same way.
    std::string_view penalty(std::string_view key, const PenaltyOrder& order, bool with_text = false);

    /// HMGET key until: the penalty of a window, of any node.
    std::string_view check_penalty(std::string_view key);

    /// BITFIELD key: makes the instant of a bucket that has been full since the server's `now`, and moves it
    /// on by `cost` nanoseconds. Only where the key is known to be there, with room.
    std::string_view take(std::string_view key, Nanos now, Nanos cost);

    /// BITFIELD key: moves the instant of a bucket on that is known not to be full. Has half the words of
    /// take(), and costs the server about three quarters.
    std::string_view take_of_filling(std::string_view key, Nanos cost);

    /// HMGET key version, or HGETALL key: of the overrides that machines share.
    std::string_view overrides_version(std::string_view key);
    std::string_view overrides(std::string_view key);

    /// lua/overrides.lua with these arguments, by digest or with its text.
    std::string_view change_overrides(std::string_view key, const std::vector<std::string>& arguments,
                                      bool with_text = false);

    /// lua/refund.lua, in the same way: only to the window whose end is `reset`.
    std::string_view refund(std::string_view key, std::int64_t cost, Millis reset, const Numbered& call = {},
                            Emptied emptied = Emptied::closes, bool with_text = false);

private:
    void begin(const char* name) noexcept;
    void begin(std::size_t words);
    void word(std::string_view text);
    void word(std::int64_t number);
    void words(const Opening& opening);
    void words(const Numbered& call);
    void time();
    std::string_view command(std::initializer_list<std::string_view> words);
    void call(ScriptName name, bool with_text, std::string_view key, std::size_t arguments);

    char* room(std::size_t size);
    void advance(const char* end) noexcept;
    std::string_view text() const noexcept { return {buffer_.data(), length_}; }

    std::string buffer_;  // grows, never shrinks; `length_` bytes of it are the command
    std::size_t length_ = 0;
    Encoded encoded_;
    std::int64_t told_micros_ = 0;
};

}  // namespace rate_limit
