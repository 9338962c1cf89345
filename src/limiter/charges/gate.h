#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/pacing.h"
#include "limiter/charges/nodes.h"
#include "limiter/loop.h"
#include "limiter/wire/health/server_log.h"
#include "redis/reply.h"

namespace rate_limit {

/// Whether the primary of a shard is sent charges. It closes when the primary is lost, and when that refuses
/// writes (OOM, MISCONF, NOREPLICAS, NOPERM, READONLY), though it still answers reads then and stays usable.
/// While it is closed all charges wait but one, the probe: a primary may answer PING and reads and still take
/// no writes, and everything that is sent to it ends in doubt.
///
/// The first write that is answered opens it. Where the primary has refused a command, it may take others:
/// the probe alone opens the gate then. Where the command was a charge of a window, the probe has to be one,
/// too, and what is of buckets does not wait meanwhile.
///
/// After a refusal the next probe follows after a backoff of its own. After READONLY each probe takes a new
/// connection, for the address may lead to another server by then.
class Gate {
public:
    class Owner {
    public:
        /// A probe may be sent.
        virtual void on_gate() noexcept = 0;

    protected:
        ~Owner() = default;
    };

    /// All of them outlive it. `subject` begins each line of the log.
    Gate(Nodes& nodes, const std::string& subject, bool in_cluster, Owner& owner) noexcept;

    bool is_open() const noexcept { return state_ == State::open; }

    /// Charges that waited may be sent, many at once: the primary has taken a write just before.
    bool is_proven() const noexcept { return proven_ && msec_now() - *proven_ < trust; }

    /// They need no probe, then.
    bool is_trusted() const noexcept { return is_open() && is_proven(); }

    /// A refusal was not long ago: no probe is sent yet, and nothing that waits, but for what
    /// lets_waiting_buckets_pass() lets through.
    bool pauses() const noexcept { return retry_.armed(); }

    /// False, too, while a probe is on its way.
    bool may_probe() const noexcept;
    void begin_probe() noexcept { state_ = State::probing; }

    /// The probe is over. If that has not opened the gate, the next charge may probe.
    void end_probe() noexcept { state_ = state_ == State::probing ? State::closed : state_; }

    void close() noexcept { state_ = is_open() ? State::closed : state_; }

    /// The shard has another primary, the first one if `first`.
    void change_primary(bool first) noexcept;

    /// The next try comes after a while, of what waits for buckets, too. False: a pause is on already.
    bool pause() noexcept;

    /// The write that the primary has taken. Each proves what those above it do, too.
    enum class Proof : unsigned char {
        other,
        probe,
        window,  ///< a probe that is a charge of a window
    };

    /// The primary answered a write by `fault`, one of refuses_writes() or, in a cluster, of is_of_slot().
    /// Where it has refused a command, it `needs` that proof at least to open.
    void refused(Fault fault, std::string_view command, const Reply& reply, Proof needs) noexcept;

    /// Charges of buckets need not wait: only those of windows are refused.
    bool lets_buckets_pass() const noexcept {
        return needs_ == Proof::window && nodes_.primary().usable() && nodes_.primary().takes_writes();
    }

    /// Charges of buckets that have waited so far need not wait, either.
    bool lets_waiting_buckets_pass() const noexcept {
        return lets_buckets_pass() && !(pauses() && holds_buckets_);
    }

    /// The primary has taken a write. True: that has opened the gate.
    bool prove(Proof proof) noexcept;

private:
    enum class State : unsigned char {
        open,
        closed,
        probing,  // closed, and the probe is on its way
    };

    /// For so many milliseconds after the answer to a write charges that waited need no probe.
    static constexpr Msec trust = 100;

    /// For so many milliseconds after a command was refused the backoff goes on where it was: what waits for
    /// the one command is refused again just as another one has opened the gate.
    static constexpr Msec remembered = Msec{2} * Backoff::longest_wait;

    static void on_retry(void* self) noexcept;

    bool begin_pause() noexcept;

    Nodes& nodes_;
    const bool in_cluster_;
    Owner& owner_;
    State state_ = State::open;
    Proof needs_ = Proof::other;           // to open, since the last refusal
    bool holds_buckets_ = false;           // the pause is no refusal's alone
    std::optional<Msec> proven_;           // when the primary was last seen to take a write
    std::optional<Msec> command_refused_;  // when one last was
    Backoff backoff_;
    OutageLog refusals_;
    Timer retry_{this, on_retry, Timer::Worker::leaves};
};

}  // namespace rate_limit
