#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "operator/acts/acting.h"
#include "t/limiter/scenario.h"
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

/// The result of what an operator posts at that worker.
inline ActResult act(Scenario& world, WorkerProcess& worker, const std::string& posted,
                     OperatorRights rights = {true, false}) {
    Form form;
    EXPECT_EQ(form.parse(posted), Form::Error::none) << posted;
    WorldPoster poster;
    std::unique_ptr<Acting> acting;
    EXPECT_TRUE(world.until([&] {
        bool done = false;
        worker.loop().turn([&] {
            if (acting == nullptr) {
                acting = std::make_unique<Acting>(worker.configuration(), rights, poster, form);
            }
            done = acting->go_on();
            done ? (void)0 : acting->wait();
        });
        return done;
    })) << posted;
    ActResult result = acting->result;
    worker.loop().turn([&] { acting.reset(); });
    return result;
}

}  // namespace rate_limit::world
