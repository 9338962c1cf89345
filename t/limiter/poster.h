#pragma once

#include <string_view>

#include "operator/acts/acting.h"
#include "t/world/request_memory.h"

namespace rate_limit::world {

/// A request that is posted within a turn of the worker.
class WorldPoster final : public Poster {
public:
    std::string_view address() const noexcept override { return "192.0.2.7"; }
    std::string_view user() const noexcept override { return "ann"; }
    Log& log() const noexcept override { return process_log(); }
    RequestMemory& memory() const noexcept override { return memory_; }
    void resume() noexcept override {}

private:
    mutable RequestMemory memory_;
};

}  // namespace rate_limit::world
