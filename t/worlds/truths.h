#pragma once

#include <string>
#include <utility>
#include <vector>

namespace rate_limit::world {

/// The truths that have not held in a world.
class Truths {
public:
    void fail(std::string what) { failures_.push_back(std::move(what)); }
    bool hold() const noexcept { return failures_.empty(); }
    const std::vector<std::string>& failures() const noexcept { return failures_; }

private:
    std::vector<std::string> failures_;
};

}  // namespace rate_limit::world
