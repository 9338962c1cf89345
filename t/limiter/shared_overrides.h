#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "limiter/client_id.h"
#include "limiter/overrides/shared_change.h"
#include "limiter/tallies/tallies.h"
#include "t/limiter/scenario.h"

namespace rate_limit::world {

/// The answer of a server whose shared overrides have this version, and these fields and values beside it.
inline ScriptedReply serve_overrides(const Command& words, const std::string& version,
                                     std::vector<std::string> fields = {}) {
    if (words[0] == "hmget") {
        return array({bulk(version)});
    }
    fields.insert(fields.begin(), {bulk("version"), bulk(version)});
    return words[0] == "hgetall" ? array(fields) : fallback(words);
}

/// An operator does this at a worker: a ban, `allow`, or the end of it.
class Act final : private Answer::Owner {
public:
    Act(WorkerProcess& worker, const std::string& key, OverrideKind kind) {
        worker.loop().turn([&] {
            const StoreConf& store = *configuration_at_work()->stores.front();
            Override what;
            what.subject = {limit_digest(store.name, "default"),
                            client_id(*store.zone, store.name, "default", key)};
            what.kind = kind;
            what.from = now_millis();
            what.until = what.from + 3'600'000;
            EXPECT_TRUE(change_.start(store, what, write_field({"default", key}), *this));
        });
    }

    bool over() const noexcept { return ended_; }
    SharedChange::Trouble trouble() const noexcept { return change_.trouble(); }
    bool done() const noexcept { return over() && trouble() == SharedChange::Trouble::none; }

    /// The reason that the operator is given; empty: it is done.
    std::string reason() const { return reason_ != nullptr ? reason_ : ""; }

private:
    void on_answer(Answer& answer) noexcept override {
        ended_ = true;
        reason_ = answer.failure();
    }

    bool ended_ = false;
    const char* reason_ = nullptr;
    SharedChange change_;
};

}  // namespace rate_limit::world
