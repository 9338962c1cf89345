#pragma once

#include <cstdint>
#include <string_view>

#include "bench/simulate/server/keyspace.h"
#include "bench/simulate/server/text.h"
#include "redis/decode.h"

namespace rate_limit::simulated {

/// Microseconds of the epoch, by the clock of the server.
using Micros = std::int64_t;

/// The fault that ends a command, and from redis.call(), a script. What the script has written until then
/// stays.
struct Raised {
    Fault fault = Fault::none;
};

/// One command, or one script, and the key that it was called for: has the commands of Redis that scripts
/// call, under their names. Its clock stands still, as that of a script does. All but those that are noexcept
/// throw Raised: Fault::wrongtype where the key holds something else, Fault::readonly where a replica is to
/// write.
class Call {
public:
    Call(Keyspace& keys, KeyId key, Micros clock, bool may_write) noexcept;

    Micros clock() const noexcept { return clock_; }
    Millis now() const noexcept { return clock_ / 1000; }
    bool wrote() const noexcept { return wrote_; }
    bool replaced() const noexcept { return replaced_; }

    /// Null: no such key. Valid until the next call of this object.
    const Value* value() const noexcept { return value_; }

    const Hash* hash() const;         ///< for HGET, HMGET, HLEN, HGETALL; null: no such key
    bool is_hash() const noexcept;    ///< there is one
    bool is_string() const noexcept;  ///< there is one

    void hset(std::string_view field, Text text);
    void hset_used(Text text);
    void hset_reset(Text text);
    void hdel(std::string_view field);  ///< the last field takes the key with it

    /// HINCRBY key used; Fault::other where that is no integer, or would have no room.
    std::int64_t hincrby_used(std::int64_t by);

    /// SET, which ends an expiry.
    void set(std::string_view bytes);

    /// SET PX; `life` is 1 or more.
    void set_px(const BucketBytes& bucket, Millis life);  ///< a hash gives way: replaced()

    /// BITFIELD key OVERFLOW SAT INCRBY u63 1 `by`; both answer what is there then.
    std::int64_t bitfield_u63(std::int64_t by);

    /// BITFIELD key INCRBY i64 0 `by`, by OVERFLOW SAT or WRAP.
    std::int64_t bitfield_i64(std::int64_t by, bool saturates);

    void del();
    void persist();

    /// DEL, where the key holds no hash: scripts let a window or slots take its place. True if it was there.
    bool replace_string();

    /// -1: no expiry, -2: no key.
    Millis pttl() const noexcept;

    /// Nothing where there is no key. A time that is over, or none, takes the key.
    void pexpire(Millis life);

private:
    void write();
    Hash& made_hash();
    Value& made_string();
    void erase() noexcept;

    Keyspace& keys_;
    KeyId key_;
    Micros clock_;
    Value* value_;
    bool may_write_;
    bool wrote_ = false;
    bool replaced_ = false;
};

}  // namespace rate_limit::simulated
