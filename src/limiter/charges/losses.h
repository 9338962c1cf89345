#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "limiter/counters.h"
#include "limiter/log_throttle.h"

namespace rate_limit {

/// What did not reach its primary, or perhaps did not, or is lost with it: charges, where nothing else is
/// said.
enum class Loss : unsigned char {
    expired,           ///< given up: their window ended, or their bucket was full, before they could be sent
    no_room,           ///< dropped: the zone had no room for them
    refunds_no_room,   ///< refunds, dropped: they wait in the zone only
    no_memory,         ///< dropped
    refused,           ///< dropped: the primary answered with an error that is the key's or the command's
    charges_in_doubt,  ///< charges, sent, without an answer that tells whether they count
    refunds_in_doubt,  ///< refunds, the same
    reservations_in_doubt,  ///< reservations, the same: clients may have been charged for nothing
    answered_by_former,  ///< those in doubt that a former primary has answered, after another one had taken
                         ///< its place
    not_raised,  ///< windows of which a former primary had confirmed charges, and that had given way to
                 ///< others at the next one
};
constexpr std::size_t loss_count = static_cast<std::size_t>(Loss::not_raised) + 1;

template <>
struct CountersOf<Loss> {
    static constexpr std::string_view name = "losses";
    static constexpr std::size_t count = loss_count;
};

/// Why nobody knows whether something that was sent counts: what became of it when it was last sent.
enum class Doubt : unsigned char {
    untold,  ///< no answer came, or none that tells
    answered_by_former,
};

/// How many charges were dropped, for any reason. Those that expired were not.
std::uint64_t dropped(const Counters<Loss>& counters) noexcept;

/// Counts what one worker has lost on its way to one primary, and tells all of it: for each kind a line a
/// second at most, with how many since the line before, and how many all workers have lost.
class Losses {
public:
    /// `subject` names the primary and its store, and outlives this.
    Losses(const std::string& subject, const Counters<Loss>& counters) noexcept;
    Losses(const Losses&) = delete;
    Losses& operator=(const Losses&) = delete;

    /// `why` is static text, for Loss::refused; others have a reason of their own.
    void add(Loss loss, std::uint64_t charges, const char* why = nullptr) noexcept;

private:
    struct Line {
        static void write(void* self, Log& log) noexcept;

        const Losses* owner = nullptr;
        Loss loss = Loss::expired;
        const char* why = nullptr;
        std::uint64_t untold = 0;
        LogThrottle throttle{write, this};
    };

    const std::string& subject_;
    Counters<Loss> counters_;
    std::array<Line, loss_count> lines_;
};

}  // namespace rate_limit
