#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "bench/simulate/server/call.h"

namespace rate_limit::simulated {

/// The state in which one write of a primary has left its key.
struct Write {
    Micros at = 0;
    KeyId key = 0;
    Value left;  ///< without content: no key
};

/// The writes of a primary in their order, for replicas that read them later, each from a position of its
/// own.
class Journal {
public:
    void add(Micros at, KeyId key, const Value* left);

    /// How many writes there ever were: the position of a replica that is in step.
    std::uint64_t end() const noexcept { return begin_ + writes_.size(); }

    /// The first position that is still known.
    std::uint64_t begin() const noexcept { return begin_; }

    /// `position` is between begin() and end().
    const Write& at(std::uint64_t position) const noexcept {
        return writes_[static_cast<std::size_t>(position - begin_)];
    }

    /// The owner says that no replica needs the writes before this position.
    void forget_before(std::uint64_t position) noexcept;

private:
    std::deque<Write> writes_;
    std::uint64_t begin_ = 0;
};

}  // namespace rate_limit::simulated
