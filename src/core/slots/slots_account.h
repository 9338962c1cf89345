#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "core/limit/window.h"
#include "core/machine/records/slots_record.h"

namespace rate_limit {

/// The changes that requests and answers make to one machine's record of a limit of running requests. A slot
/// is the right to let one request of a key run. Redis says how many slots each machine holds (lua/hold.lua),
/// and until when; the machine's requests take them without asking. A store that is `local` has no slots:
/// there the running requests of this machine are all that counts.
///
/// All calls must be about one limit: same store, same ttl. Limits of different height may share a record:
/// each request is decided by its own.

/// Slots that fell idle stay here for so long, in milliseconds, unless three quarters of the limit are held:
/// the next request takes them without a call. A call that failed is repeated after as long.
constexpr Millis idle_time = 1000;

/// While the limit is reached a machine asks once in so many milliseconds for each key; and as often at most
/// it gives back slots at once.
constexpr Millis slots_pause = 50;

/// Under which terms a request or an answer uses a limit.
struct SlotsTerms {
    std::int64_t limit = 0;  ///< how many requests may run at a time, on all machines; 0: none
    Truth truth = Truth::local;
    Millis ttl = 30'000;    ///< slots of which Redis hears nothing for so long lapse
    Millis patience = 100;  ///< a call without an answer for so long has failed (`check_timeout`)
    Millis now = 0;         ///< by a clock that all workers of the machine share
};

/// A call of lua/hold.lua. The worker that sends it keeps it until the answer, also a late one.
struct SlotsCall {
    std::int64_t number = 0;
    std::int64_t limit = 0;
    std::int64_t want = 0;
    std::int64_t least = 0;
    Millis ttl = 0;
    Millis sent = 0;  ///< when it was made: before it was sent
};

struct SlotsAnswer {
    std::int64_t held = 0;
    std::int64_t others = 0;
    std::int64_t number = 0;  ///< the one that stands
};

enum class SlotsOutcome : std::uint8_t {
    admitted,  ///< the request runs, until leave()
    rejected,  ///< the limit is reached
    ask,       ///< the caller sends the call and tries again when it is answered
    wait,      ///< a call is under way: the caller tries again when that is answered, or after `patience`
    no_room,   ///< by SharedSlots alone: the table is full
};

struct SlotsEntry {
    SlotsOutcome outcome = SlotsOutcome::rejected;
    std::int64_t used = 0;  ///< slots of other machines, and requests that run here besides this one
    SlotsCall call;         ///< to be sent, where `outcome` is `ask`
};

/// Whether a request that finds no slot asks for one.
enum class Asking : std::uint8_t {
    at_once,
    later,  ///< it may not need one: where it would ask or wait, nothing is noted, and there is no call
};

/// A request begins.
SlotsEntry enter(SlotsRecord& record, const SlotsTerms& terms, Asking asking = Asking::at_once) noexcept;

/// A request begins although the store could not be asked and the configuration lets it pass. False if more
/// run than a record counts.
bool enter_anyway(SlotsRecord& record, const SlotsTerms& terms) noexcept;

/// A request ends, however it ended. What falls idle goes back by due().
void leave(SlotsRecord& record, const SlotsTerms& terms) noexcept;

enum class IdleSlots : std::uint8_t {
    stay,     ///< for idle_time
    go_back,  ///< at once, unless a call is under way: this machine serves no more requests
};

/// The call that is due now, apart from those for requests that wait: slots to give back, to be held for
/// longer, or a call to be repeated. The caller sends it.
std::optional<SlotsCall> due(SlotsRecord& record, const SlotsTerms& terms,
                             IdleSlots idle = IdleSlots::stay) noexcept;

/// When a call will be due if nothing happens to the record before; may be too early, never too late. In the
/// past: now.
Millis next_due(const SlotsRecord& record, const SlotsTerms& terms) noexcept;
constexpr Millis never_due = std::numeric_limits<Millis>::max();

/// Redis has answered a call. An answer to another call than the last is ignored. Requests that wait try
/// again after this; then due() may have something.
void learn(SlotsRecord& record, const SlotsTerms& terms, const SlotsCall& call,
           const SlotsAnswer& answer) noexcept;

/// A call failed, or took too long. Requests that wait are told what rate_limit_on_error says; due() repeats
/// the call.
void give_up(SlotsRecord& record, const SlotsTerms& terms, const SlotsCall& call) noexcept;

/// Requests that run here.
inline std::int64_t running(const SlotsRecord& record) noexcept {
    return record.running;
}

/// Slots that this machine holds, if they have not lapsed.
inline std::int64_t slots_of(const SlotsRecord& record) noexcept {
    return static_cast<std::int64_t>(record.slots);
}

/// Slots that this machine holds now.
std::int64_t held(const SlotsRecord& record, const SlotsTerms& terms) noexcept;

/// Slots of other machines and requests that run here, as far as this machine knows.
std::int64_t used(const SlotsRecord& record, const SlotsTerms& terms) noexcept;

/// How many more requests may run, as far as this machine knows, for clients to see.
std::int64_t remaining(const SlotsRecord& record, const SlotsTerms& terms) noexcept;

/// After workers died: so many requests run in the workers that live. What the dead ones had under way is
/// over, and their slots are due to go back at once.
void correct(SlotsRecord& record, const SlotsTerms& terms, std::int64_t live, std::uint32_t deaths) noexcept;

}  // namespace rate_limit
