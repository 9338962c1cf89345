#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/counts/waits.h"
#include "limiter/counters.h"

namespace rate_limit {

/// Writes to a shard, counted beside Loss: how many charges, refunds and reservations its primary has taken,
/// how many were dropped, and how many expired: before they were sent their window had closed, their bucket
/// was full, or an operator gave all of it back, and they would count for nothing. And what a failover had
/// lost, and a charge has brought back.
enum class Write : unsigned char {
    charges_stored,
    charges_dropped,
    charges_expired,
    refunds_stored,
    refunds_dropped,
    refunds_expired,
    reservations_stored,  ///< those that granted something, fetches of tokens among them
    raised,               ///< windows that had less than a former primary had confirmed
};

template <>
struct CountersOf<Write> {
    static constexpr std::string_view name = "writes";
    static constexpr std::size_t count = static_cast<std::size_t>(Write::raised) + 1;
};

/// Events of the tokens of one shard. Tokens that were fetched, and of which nothing else is counted, are at
/// hand or held by requests that run.
enum class TokenEvent : unsigned char {
    fetched,
    spent,
    returned,  ///< to the primary
    lost,      ///< their window ended before they were spent, or Redis counts them no more
};

template <>
struct CountersOf<TokenEvent> {
    static constexpr std::string_view name = "tokens";
    static constexpr std::size_t count = static_cast<std::size_t>(TokenEvent::lost) + 1;
};

/// How long requests waited for a shard: the buckets of wait_bucket(), and the sum.
enum class Wait : unsigned char {
    first_bucket,
    micros = wait_buckets,
};

template <>
struct CountersOf<Wait> {
    static constexpr std::string_view name = "waits";
    static constexpr std::size_t count = static_cast<std::size_t>(Wait::micros) + 1;
};

/// The counters of one shard, of all workers; shards of a cluster are counted together. Errors of nodes, and
/// losses, are counted where they happen.
struct ShardCounters {
    ShardCounters(CounterTable& table, const Subject& subject) noexcept
        : writes(table, subject), tokens(table, subject), waits(table, subject) {}

    /// Calls fn(CounterTable::Name) for all that a shard needs.
    template <typename Fn>
    static void for_each_name(const Subject& subject, Fn&& fn) {
        Counters<Write>::for_each_name(subject, fn);
        Counters<TokenEvent>::for_each_name(subject, fn);
        Counters<Wait>::for_each_name(subject, fn);
    }

    /// Nothing of it is counted together with other shards.
    bool is_whole() const noexcept { return writes.is_whole() && tokens.is_whole() && waits.is_whole(); }

    void add(TokenEvent event, std::int64_t count) noexcept {
        if (count > 0) {
            tokens.add(event, static_cast<std::uint64_t>(count));
        }
    }

    /// A request has waited.
    void add_wait(std::uint64_t micros) noexcept {
        waits.add(static_cast<Wait>(wait_bucket(micros)));
        waits.add(Wait::micros, micros);
    }

    Counters<Write> writes;
    Counters<TokenEvent> tokens;
    Counters<Wait> waits;
};

}  // namespace rate_limit
