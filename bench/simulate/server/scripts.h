#pragma once

#include <cstdint>

#include "bench/simulate/server/call.h"
#include "core/limit/window.h"
#include "redis/command.h"
#include "redis/hold_reply.h"

namespace rate_limit::simulated {

// The scripts of lua/, statement by statement: a file here for each file there. They are told what
// CommandWriter is, and do and answer what Redis would. Times and counts are below 2^53, as the module's are,
// but for nanoseconds, whose rounding is Lua's. They throw Raised where redis.call() would end the script.

struct Reserved {
    std::int64_t granted = 0;
    Window window;
};

/// See lua/bucket.lua.
struct BucketAnswer {
    std::int64_t taken = 0;
    std::int64_t left = 0;
    std::int64_t missing = 0;  ///< nanoseconds until the bucket is full
    std::int64_t wait = 0;     ///< nanoseconds until `least` fit
    std::int64_t time = 0;     ///< microseconds of the epoch
    std::int64_t high = 0;     ///< the halves of how much has been put back
    std::int64_t low = 0;
};

/// For a server whose scripts may not ask for the time: the machine tells it its own.
constexpr Micros asks_for_time = 0;

Window charge(Call& call, const Opening& opening, std::int64_t cost);
Window repair(Call& call, const Opening& opening);
Window refund(Call& call, std::int64_t cost, Millis reset, const Numbered& numbered, Emptied emptied);
Reserved reserve(Call& call, const Opening& opening, const Wanted& wanted);
BucketAnswer bucket(Call& call, const Draw& draw, Micros told);
Held hold(Call& call, const Hold& hold, Micros told);

}  // namespace rate_limit::simulated
