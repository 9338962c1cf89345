#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <regex>
#include <string>
#include <string_view>

#include "operator/acts/acting.h"
#include "t/limiter/scenario.h"
#include "t/world/request_memory.h"

namespace rate_limit::world {

/// An act, or a look-up, that an operator posts at a worker: from its form to what it comes to. The worker
/// outlives it.
class PostedAct final : private Poster {
public:
    PostedAct(WorkerProcess& worker, const std::string& posted, OperatorRights rights = {true, false})
        : worker_(worker) {
        EXPECT_EQ(form.parse(posted), Form::Error::none) << posted;
        worker_.loop().turn([&] {
            acting_.emplace(worker_.configuration(), rights, static_cast<Poster&>(*this), form);
            resume_.emplace(
                this, [](void* self) noexcept { static_cast<PostedAct*>(self)->go_on(); },
                Timer::Worker::stays);
            go_on();
        });
    }
    ~PostedAct() {
        worker_.loop().turn([this] {
            resume_.reset();
            acting_.reset();
        });
    }

    bool is_over() const noexcept { return over_; }
    const ActResult& result() const noexcept { return acting_->result; }

    /// An error as `503 InDoubt: Why.`; else the JSON of the answer.
    std::string told() {
        const ActResult& all = result();
        std::string text =
            std::to_string(status_of(all.error)) + " " + code_of(all.error) + ": " + all.description;
        if (all.error == ActError::none) {
            worker_.loop().turn([&] { text = write_whole(*tell_act_json(all)); });
        }
        return text;
    }

    Form form;

private:
    std::string_view address() const noexcept override { return "192.0.2.7"; }
    std::string_view user() const noexcept override { return "ann"; }
    Log& log() const noexcept override { return process_log(); }
    RequestMemory& memory() const noexcept override { return memory_; }
    void resume() noexcept override { resume_->set_to_end_of_turn(); }

    void go_on() {
        over_ = acting_->go_on();
        if (!over_) {
            acting_->wait();
        }
    }

    WorkerProcess& worker_;
    mutable RequestMemory memory_;
    std::optional<Acting> acting_;
    std::optional<Timer> resume_;
    bool over_ = false;
};

/// The result of what is posted; at the first worker of the first machine, if no other is named.
inline ActResult act(Scenario& world, const std::string& posted, WorkerProcess* at = nullptr) {
    PostedAct posting(at != nullptr ? *at : world.worker(), posted);
    EXPECT_TRUE(world.until([&] { return posting.is_over(); })) << posted;
    return posting.result();
}

/// The answer to what is posted, as PostedAct::told() has it.
inline std::string answer_to(Scenario& world, const std::string& posted, WorkerProcess* at = nullptr) {
    PostedAct posting(at != nullptr ? *at : world.worker(), posted);
    EXPECT_TRUE(world.until([&] { return posting.is_over(); })) << posted;
    return posting.told();
}

/// A regular expression of ECMAScript is somewhere in the text.
inline testing::AssertionResult has(const std::string& text, const std::string& pattern) {
    return (std::regex_search(text, std::regex(pattern)) ? testing::AssertionSuccess()
                                                         : testing::AssertionFailure())
           << text << " has " << pattern;
}

}  // namespace rate_limit::world
