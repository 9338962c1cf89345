#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "t/world/chance.h"
#include "t/world/events.h"

namespace rate_limit::world {

/// One fault, and when it begins and ends. `Kind`: an enum whose enumerators, from 0, are all that may befall
/// one part of a world. It has a name_of(), and place_of() says what a place of it is.
template <typename Kind>
struct Fault {
    Kind kind;
    Micros at;
    Micros life;         ///< until it ends
    std::size_t where;   ///< which server or machine
    std::uint64_t bits;  ///< what else there is to choose
};

/// No fault lasts longer.
constexpr Micros longest_fault = 5 * second;

/// By then all that has waited for the end of a fault has been sent.
constexpr Micros calms_in = 15 * second;

/// Some kinds of faults, by their numbers: those from `first` on and before `end`.
struct Kinds {
    std::size_t first;
    std::size_t end;
};

/// Faults of a random part of the kinds, so that some worlds see one fault alone, in the order of their
/// begins: up to `most`, while the world lasts, each at one of `places`.
template <typename Kind>
std::vector<Fault<Kind>> draw_faults(Chance& chance, const Kinds& of, std::int64_t most, std::size_t places,
                                     Micros lasts) {
    std::vector<Kind> kinds;
    for (std::size_t i = of.first; i < of.end; ++i) {
        if (chance.percent(30)) {
            kinds.push_back(static_cast<Kind>(i));
        }
    }
    std::vector<Fault<Kind>> faults;
    const std::int64_t count = kinds.empty() ? 0 : chance.between(0, most);
    for (std::int64_t i = 0; i < count; ++i) {
        const auto where = static_cast<std::size_t>(chance.below(static_cast<std::int64_t>(places)));
        faults.push_back({chance.one_of(kinds), chance.below(lasts), chance.between(1'000, longest_fault),
                          where, chance.bits()});
    }
    std::sort(faults.begin(), faults.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
    return faults;
}

/// `server 1: stall`
template <typename Kind>
std::string describe(const Fault<Kind>& fault) {
    return std::string(place_of(fault.kind)) + ' ' + std::to_string(fault.where) + ": " + name_of(fault.kind);
}

}  // namespace rate_limit::world
