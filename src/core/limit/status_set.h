#pragma once

#include <bitset>
#include <cstddef>
#include <string_view>

namespace rate_limit {

/// A set of statuses of responses, as a list of words says it: a status (`404`), a class (`4xx`), and what is
/// excepted from these (`!499`, `!4xx`), in any order. Exceptions alone leave all others: `!401` has every
/// status but that one. No words: no status.
class StatusSet {
public:
    /// False: the word says no status from 100 to 599 and no class of these.
    [[nodiscard]] bool add(std::string_view word) noexcept;

    /// Any number: one that is not from 100 to 599 is only where all others are.
    bool has(std::size_t status) const noexcept {
        const bool known = status < most;
        return any_named_ ? known && named_[status] && !excepted_[status]
                          : any_excepted_ && !(known && excepted_[status]);
    }

private:
    static constexpr std::size_t most = 600;

    std::bitset<most> named_;
    std::bitset<most> excepted_;
    bool any_named_ = false;     // named_.any(), which each request would have to search for
    bool any_excepted_ = false;  // excepted_.any()
};

}  // namespace rate_limit
