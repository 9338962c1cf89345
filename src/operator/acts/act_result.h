#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/limit/window.h"
#include "core/overrides/override.h"
#include "limiter/configuration.h"
#include "operator/figures/columns.h"
#include "operator/figures/document.h"

namespace rate_limit {

/// The part of a window that one region has used.
struct SeenRegion {
    std::string name;
    std::int64_t used = 0;
    bool here = false;  ///< the only one that acts change
    bool told = false;  ///< false: this machine's memory says so
};

/// One window of a key, as an operator sees it. Of a store with regions `used` is the sum of all.
struct SeenWindow {
    Rate rate;                        ///< its period, and the greatest limit of that
    const NamedKind* kind = nullptr;  ///< never null once it is seen
    bool open = false;
    std::int64_t used = 0;
    std::int64_t remaining = 0;
    Millis reset = 0;                 ///< 0: none, it is not open
    std::int64_t in_flight = 0;       ///< requests of this machine
    std::int64_t tokens = 0;          ///< at hand on this machine; `used` counts them
    std::int64_t waiting = 0;         ///< cost of the charges that wait on this machine for the primary
    bool penalized = false;           ///< this machine knows of a penalty that runs
    bool from_primary = false;        ///< false: this machine's memory says so, as of a `local` store
    std::vector<SeenRegion> regions;  ///< this machine's first; empty: the store has none
};

/// The running requests of a key, as an operator sees them.
struct SeenSlots {
    std::int64_t limit = 0;      ///< the greatest number
    std::int64_t running = 0;    ///< on this machine
    std::int64_t remaining = 0;  ///< may run besides, on any machine
    bool shared = false;         ///< machines hold slots in Redis; else `local`, and these are 0
    std::int64_t here = 0;       ///< slots of this machine
    std::int64_t elsewhere = 0;  ///< slots of all other machines
};

/// One limit of one store, as it is for one key.
struct SeenLimit {
    std::string limit;
    std::string store;
    std::optional<std::uint64_t> id;   ///< empty: the act names no key
    std::optional<std::string> key;    ///< only under keys=plain
    std::optional<Override> override;  ///< in force
    std::optional<Override> before;    ///< was in force before the act; only where that has changed it
    std::optional<OverrideScope> on;   ///< where the act has changed overrides; empty: it has not
    std::vector<SeenWindow> windows;   ///< that are open, or of which this machine has something
    std::optional<SeenSlots> slots;    ///< set for a limit of running requests, which has no windows

    /// Whether the windows are known, which matters where there are none.
    enum class Known : unsigned char {
        told,
        no_key,  ///< the act names none, so nobody was asked
        away,    ///< the store did not answer
        unkept,  ///< this machine knows the id of the key, and does not keep its text
    };
    Known known = Known::told;
};

/// Columns of a window, but for its period on the page, and of running requests.
extern const Columns<SeenWindow> window_columns;
extern const Columns<SeenSlots> slots_columns;

/// Why an act was not done.
enum class ActError : unsigned char {
    none,
    bad_parameter,
    forbidden,
    cross_origin,
    path_not_found,
    unknown_limit,
    method_not_allowed,
    ambiguous,
    full,
    conflict,
    too_large,
    unsupported_type,
    store_unavailable,  ///< nothing was done
    in_doubt,           ///< sent, and not answered
};

/// The result of an act, or of a look-up.
struct ActResult {
    ActError error = ActError::none;
    std::string description;  ///< the error in one sentence or more

    /// Limits as a look-up shows them: the named one, or without a name all that there are.
    std::vector<SeenLimit> limits;
    bool named = false;  ///< the limit was named: there is exactly one
    bool asks = false;   ///< nothing was changed: the operator is to say once more that it shall be

    static ActResult failed(ActError error, std::string description) {
        return {error, std::move(description), {}, false, false};
    }
};

/// The HTTP status of the answer: 200 where there is no error.
unsigned status_of(ActError error) noexcept;

/// The error as the contract's JSON names it: `BadParameter`, ….
const char* code_of(ActError error) noexcept;

/// Tells the result as JSON: the error; or the limit that was named; or an array of all, each a piece.
/// `result` outlives it. Throws std::bad_alloc.
std::unique_ptr<Document> tell_act_json(const ActResult& result);

}  // namespace rate_limit
