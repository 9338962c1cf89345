#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "core/counts/running_counts.h"
#include "core/limit/bucket.h"
#include "core/limit/decision.h"
#include "core/machine/records/window_record.h"
#include "core/overrides/override.h"
#include "limiter/concurrency/entrance.h"
#include "limiter/configuration.h"
#include "limiter/leases/fetches.h"
#include "limiter/regions/regional_read.h"
#include "limiter/store/read.h"
#include "limiter/store/reservation.h"
#include "limiter/store/shared_reads.h"
#include "limiter/store/store.h"
#include "limiter/windows/window_place.h"

namespace rate_limit {

class Mode;
class Zone;

/// The part of a window that a request holds until it is charged or gives it back.
struct Holding {
    enum class Kind : unsigned char {
        nothing,
        in_flight,  ///< the request counts as one here
        reserved,   ///< its cost is charged already
        tokens,     ///< it has tokens that this machine fetched
        slot,       ///< it counts among those that run, to its end
    };

    Kind kind = Kind::nothing;
    std::int64_t cost = 0;  ///< charged already, or spent of tokens; in flight: the request's
    Ticket ticket = 0;      ///< the window of this machine that counts it
    Millis reset = 0;       ///< end of the window in Redis that counts it, or when the bucket was to be full
    BucketReceipt receipt{};  ///< for what was taken of a bucket
    Ticks tokens_end = 0;     ///< when those of a bucket die
};

/// The result of recall().
enum class Recalled : unsigned char {
    nothing,     ///< nothing that decides: the store does
    used_up,     ///< the limit is reached
    admitted,    ///< this machine has or knows enough, and the request has entered
    to_confirm,  ///< the limit is reached, and it is this request's turn to ask the primary whether that is
                 ///< still so
};

/// The part of a request in the penalty of one limit. Lives in the request.
struct PenaltyPart {
    Read read;               ///< the question to the store
    bool must_ask = false;   ///< memory does not say that none runs
    bool asked = false;      ///< it was asked
    bool begun = false;      ///< the penalty began with this request
    Millis until = 0;        ///< end of the penalty that rejects the request, or began with it; 0: none
    std::int64_t held = 0;   ///< counts in PenaltyRecord::pending
    std::uint32_t span = 0;  ///< for PenaltyRecord::span
};

/// One limit that applies to one request, and how far the request has come under it. Lives in the request.
struct AppliedLimit : WindowPlace {
    AppliedLimit(const Limit& of, const Mode& uncounted, Verdict& on) noexcept
        : limit(of), mode(&uncounted), verdict(on) {}

    const Limit& limit;
    const Mode* mode;  ///< how it is counted, once its store is known
    Verdict& verdict;

    std::optional<Bucket> bucket;  ///< empty: windows count
    std::int64_t kept = 0;         ///< tokens of the bucket's burst kept back in `lease`: see BucketLease
    Millis life = 0;               ///< lifetime of its tokens in `lease`; 0: none are taken in advance

    std::string_view client_key;
    std::string_view store_name;  ///< the store's, or `local`; empty: not known yet, or none
    std::int64_t cost = 1;
    std::int64_t charged = 0;  ///< once the request is settled

    /// So much the request reserves before, while it is not known what it costs; empty: its cost itself.
    std::optional<std::int64_t> reserved;
    bool cost_known = false;
    bool dry_run = false;
    OverrideKind override_kind = OverrideKind::none;  ///< the kind that held when the limit was evaluated

    Zone* zone =
        nullptr;  ///< null: nothing can be decided, the verdict says why, and the window has no place

    Recalled recalled = Recalled::nothing;
    bool doubtful = false;     ///< the recalled window has charges in it that Redis has not taken yet
    bool by_tokens = false;    ///< tokens at hand have admitted the request
    bool open = false;         ///< the store knew an open window
    std::uint32_t events = 0;  ///< the record's, when it was recalled
    Millis known_reset = 0;    ///< end of the window that this machine knew as it asked; 0: it knew none

    Holding holding;
    Millis delay = 0;  ///< it waits so long for its turn by `delay=`, or would without the limit's dry run
    std::optional<RunningCounts::Column> running;  ///< counts the request as one that runs
    Demand demand;  ///< part of the limit that the store is asked for, if for more than the window
    Elsewhere* elsewhere = nullptr;  ///< the window in other regions; null: the store has none
    std::variant<std::monostate, Read, Reservation, Seat, SharedRead, Entrance, RegionalRead>
        asked;                       ///< the question to the store; monostate: none
    PenaltyPart* penalty = nullptr;  ///< null: the limit has no penalties
    const char* failure = nullptr;   ///< why the limit could not be checked: static text for a log line

    WindowKind kind() const noexcept { return limit.kind_at(verdict.rate, bucket.has_value()); }

    ReadAs read_as() const noexcept { return {kind(), bucket ? bucket->fill() : 0}; }

    /// The sum that other regions have used.
    std::int64_t used_elsewhere() const noexcept { return elsewhere != nullptr ? elsewhere->used : 0; }

    /// The shard that serves the window now, which may change while the request runs. There is a store.
    Shard& shard() const noexcept { return store->at(route); }

    /// The store's answer, which may be to come; null: it was not asked.
    Answer* answer() noexcept {
        if (auto* read = std::get_if<Read>(&asked)) {
            return read;
        }
        auto* regional = std::get_if<RegionalRead>(&asked);
        return regional != nullptr ? static_cast<Answer*>(regional) : grant();
    }

    /// The store's answer, if it was asked for a part of the limit; else null.
    Grant* grant() noexcept {
        if (auto* entrance = std::get_if<Entrance>(&asked)) {
            return entrance;
        }
        if (auto* shared = std::get_if<SharedRead>(&asked)) {
            return shared;
        }
        auto* seat = std::get_if<Seat>(&asked);
        return seat != nullptr ? static_cast<Grant*>(seat) : std::get_if<Reservation>(&asked);
    }

    /// The store's grant, once: the caller has to settle it. 0 where it was not asked for any.
    std::int64_t take_granted() noexcept { return grant() != nullptr ? grant()->take_granted() : 0; }

    /// True if nobody knows whether the primary charged the request.
    bool in_doubt() noexcept { return grant() != nullptr && grant()->in_doubt(); }

    /// The holding is the caller's from now on: to be charged or given back.
    Holding take_holding() noexcept { return std::exchange(holding, Holding{}); }
};

}  // namespace rate_limit
