#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/limit/quota.h"
#include "limiter/request/limited_request.h"
#include "t/world/machine.h"
#include "t/world/request_memory.h"

namespace rate_limit::world {

/// The words of a request. `RequestSetup("client", 3).under({"slow"}).or_else(OnError::deny)`
struct RequestSetup {
    /// `client`: the key, the same for all limits.
    RequestSetup(std::string client, std::int64_t costs = 1) : key(std::move(client)), cost(costs) {}
    RequestSetup(const char* client) : key(client) {}

    /// Limits of these names apply, in the order of the configuration; else all do.
    RequestSetup under(std::vector<std::string> names) const {
        RequestSetup changed = *this;
        changed.limits = std::move(names);
        return changed;
    }

    /// How it goes on when a limit cannot be checked; else as the configuration says.
    RequestSetup or_else(OnError decides) const {
        RequestSetup changed = *this;
        changed.on_error = decides;
        return changed;
    }

    /// Limits that reserve do so with this, and its cost is said at its end, or never.
    RequestSetup reserving(std::int64_t estimate) const {
        RequestSetup changed = *this;
        changed.reserve = estimate;
        return changed;
    }

    /// Its limits are in a dry run.
    RequestSetup in_dry_run() const {
        RequestSetup changed = *this;
        changed.dry_run = true;
        return changed;
    }

    std::string key;
    std::int64_t cost = 1;
    bool dry_run = false;
    std::optional<std::int64_t> reserve{};
    std::vector<std::string> limits{};
    std::optional<OnError> on_error{};
};

/// One request of a simulated worker, through the limiter's own code: from its begin to its end. It outlives
/// both, and is made and destroyed outside of turns.
class ClientRequest final : public LimitedRequest {
public:
    using Decided = std::function<void(ClientRequest&)>;

    /// `decided` is called once, as soon as all limits have decided, perhaps before begin() returns; and
    /// `turn` when it has come to its turn, if it waits for that then.
    ClientRequest(WorkerProcess& worker, std::string key, std::int64_t cost, Decided decided = {})
        : ClientRequest(worker, RequestSetup(std::move(key), cost), std::move(decided)) {}
    ClientRequest(WorkerProcess& worker, RequestSetup setup, Decided decided = {}, Decided turn = {});
    ~ClientRequest();

    void begin();

    /// It has been admitted, its turn has come, and its response has ended. `exempt`: by a status for which
    /// nothing is charged. What is reserved stays reserved.
    void end(bool exempt = false);

    /// Its response says that it has cost something else than was known before, or reserved.
    void end_at_cost(std::int64_t cost);

    /// The client has gone before the limits have decided, or its turn has come, or nothing has come of the
    /// request.
    void abort();

    bool is_decided() const noexcept { return decided_at_ != 0; }
    bool is_admitted() const noexcept { return is_decided() && !is_refusal(outcome); }

    /// It has been refused, or goes on: it waits for its turn no longer.
    bool is_concluded() const noexcept { return is_decided() && !waiting(); }

    /// Nothing more comes of it.
    bool is_over() const noexcept { return over_ || (is_decided() && !is_admitted()); }
    bool is_of(const WorkerProcess& worker) const noexcept { return &worker_ == &worker; }

    /// The quota that the limits' headers show.
    Quota quota(std::size_t limit = 0) const noexcept;

    /// Milliseconds from begin() to the decision.
    Msec waited() const noexcept { return decided_at_ - begun_at_; }

private:
    void on_wait_over() noexcept override { resume_->set_to_end_of_turn(); }
    void on_unchecked(const AppliedLimit& applied, const char* reason) noexcept override;
    std::uint64_t id_of(const AppliedLimit& applied) const noexcept override;
    bool applies(const Limit& limit) const;
    void apply(const Limit& limit);
    void conclude();
    void let_go();

    WorkerProcess& worker_;
    const RequestSetup setup_;
    const Decided tell_;
    const Decided tell_turn_;
    Msec begun_at_ = 0;
    Msec decided_at_ = 0;  // 0: not yet
    bool over_ = false;
    RequestMemory memory_;
    std::optional<Timer> resume_;  // of its worker's loop: from begin() on
};

}  // namespace rate_limit::world
