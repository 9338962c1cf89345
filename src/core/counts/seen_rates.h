#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/limit/rate.h"
#include "core/table/layout_mark.h"

namespace rate_limit {

/// The name under which the bursts of a limit are noted, as rates of its periods.
constexpr std::uint64_t name_of_bursts(std::uint64_t limit) noexcept {
    return (limit * 0x9e3779b97f4a7c15) | 2;
}

/// The rates that limits of variable rates have had, in memory that processes share and that outlives them:
/// the period is part of a window's identity, so that nobody could find the windows of a key without knowing
/// it. At most eight of a limit. Where more are seen, those of a period that is there twice give way first,
/// so that each of up to eight periods stays.
class SeenRates {
public:
    static constexpr std::size_t most = 8;
    static constexpr std::size_t alignment = LayoutMark::alignment;

    /// Greater limits are noted as this.
    static constexpr std::int64_t most_limit = (std::int64_t{1} << 39) - 1;

    static constexpr std::size_t bytes_for(std::size_t limits) noexcept { return limits * sizeof(Place); }

    /// Memory that is all zero at first; each process calls this with the same size. False: there is not even
    /// room for one limit.
    [[nodiscard]] bool use(void* memory, std::size_t size) noexcept;

    /// A configuration has these limits of variable rates. Where the places of other limits leave no room for
    /// them, all others lose theirs. Throws std::bad_alloc. Called by one process at a time; requests may
    /// note rates meanwhile.
    void make_room(std::vector<std::uint64_t> names);

    /// A request has this rate under the limit of this name, a digest, 2 or more. Without room nothing is
    /// noted.
    void note(std::uint64_t name, const Rate& rate) noexcept;

    /// Those seen, in no order; `limit` is 0 where there is none.
    std::array<Rate, most> read(std::uint64_t name) const noexcept;

private:
    struct Place {
        std::atomic<std::uint64_t> name;                     // 0: never taken; left: free again
        std::array<std::atomic<std::uint64_t>, most> rates;  // limit and period; 0: none
        std::atomic<std::uint64_t> gone;                     // how many have given way
    };

    static constexpr std::uint64_t left = 1;

    Place* find(std::uint64_t name) const noexcept;
    Place* find_or_take(std::uint64_t name) noexcept;

    Place* places_ = nullptr;
    std::size_t count_ = 0;
};

}  // namespace rate_limit
