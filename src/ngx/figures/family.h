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

/// Writes some families, one after the other.
class FamilyWriter {
public:
    /// Writes what the next family says of all. False: there are no more. Throws std::bad_alloc.
    template <typename Each, std::size_t count>
    bool write_more(MetricsText& text, const std::array<Family<Each>, count>& families,
                    const std::vector<Each>& all) {
        if (family_ == count) {
            return false;
        }
        families[family_].begin(text);
        for (const Each& each : all) {
            families[family_].write(text, each);
        }
        ++family_;
        return true;
    }

private:
    std::size_t family_ = 0;  // the next one
};

}  // namespace rate_limit
