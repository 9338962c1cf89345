#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "core/text/metrics_text.h"

namespace rate_limit {

/// A family of metrics with samples of each `Each`. Both functions throw std::bad_alloc.
template <typename Each>
struct Family {
    void (*begin)(MetricsText& text);
    void (*write)(MetricsText& text, const Each& each);
};

/// Writes some families, one after the other, in pieces.
class FamilyWriter {
public:
    /// Writes what a family says of the next one of `all`, which stay the same until the last family is
    /// written. False: there is no more. Throws std::bad_alloc.
    template <typename Each, std::size_t count>
    bool write_more(MetricsText& text, const std::array<Family<Each>, count>& families,
                    const std::vector<Each>& all) {
        if (family_ == count) {
            return false;
        }
        if (next_ == 0) {
            families[family_].begin(text);
        }
        if (next_ < all.size()) {
            families[family_].write(text, all[next_]);
        }
        if (++next_ >= all.size()) {
            next_ = 0;
            ++family_;
        }
        return true;
    }

private:
    std::size_t family_ = 0;  // the family that is being written
    std::size_t next_ = 0;    // the element of `all` that it tells next
};

}  // namespace rate_limit
