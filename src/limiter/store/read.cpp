#include "limiter/store/read.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/free_list.h"
#include "limiter/store/shard.h"
#include "limiter/wire/node/script_command.h"
#include "redis/decode.h"

namespace rate_limit {

/// One node asked for one read. Belongs to the node until it is answered; `read` is null when nobody waits.
/// The scripts of buckets, of slots and of penalties are asked for nothing, and write nothing then.
class ReadCommand final : public ScriptCommand {
public:
    std::string_view window_key() const noexcept override { return read->key_; }
    bool wanted() const noexcept override { return read != nullptr; }
    void answered(Node& from, Delivery delivery, const Reply* reply) noexcept override;

    void begin(Read& of, const Node& to) noexcept {
        read = &of;
        node = &to;
        begin_by_digest();
    }

    /// A server that refuses a script, for want of Lua or of a right, still serves plain reads.
    Access access() const noexcept { return calls_script() ? Access::write : Access::read; }

    Fault take(const Reply& reply, Told& told) const noexcept;

    Read* read = nullptr;
    const Node* node = nullptr;
    RemoteWindow late;  // the window that is read, once nobody waits for the answer

private:
    std::string_view write(CommandWriter& writer) override;
    void learn_late(const Reply& reply) const noexcept;

    bool calls_script() const noexcept { return words_of_script() != 0; }

    /// A number below all others changes nothing: the script says what stands.
    Hold question() const noexcept { return {read->shard_->holds().me(), -1, 0, 0, 0, Holds::ttl}; }
};

std::string_view ReadCommand::write(CommandWriter& writer) {
    return rate_limit::write(writer, read->key_, read->as_, question(), with_text());
}

Fault ReadCommand::take(const Reply& reply, Told& told) const noexcept {
    if (read->as_.penalty) {
        ToldPenalty penalty;
        const Fault fault = calls_script() ? read_penalty(reply, now_millis(), penalty)
                                           : read_penalty_check(reply, now_millis(), penalty);
        told.window.reset = penalty.until;
        return fault;
    }
    return draws()          ? read_told(reply, told)
           : calls_script() ? read_held(reply, question(), told.held)
                            : read_check(reply, told.window);
}

namespace {

constexpr const char* no_node = "no node of the shard is up";
constexpr const char* no_successor = "the node that serves the key now is not up";

/// The last moment to ask a node that takes so long, in microseconds after the read began, such that its
/// answer comes before `whole` is over, also if it takes somewhat longer. None: it does not.
std::optional<std::uint64_t> last_moment(std::uint64_t takes, std::uint64_t whole) noexcept {
    const std::uint64_t needs = takes + takes / 8 + 2000;
    return needs < whole ? std::optional(whole - needs) : std::nullopt;
}

}  // namespace

void ReadCommand::answered(Node& from, Delivery delivery, const Reply* reply) noexcept {
    if (read == nullptr) {
        if (delivery == Delivery::answered) {
            learn_late(*reply);
        }
        late.zone = nullptr;
        FreeList<ReadCommand>::common().put_back(*this);
    } else if (delivery == Delivery::answered && calls_script() && send_again(from, *reply)) {
        // it is on its way again
    } else if (delivery == Delivery::answered) {
        read->answered(*this, from, *reply);
    } else if (&from == node) {
        read->lost(*this);
    } else {
        read->led_nowhere(*this);
    }
}

void ReadCommand::learn_late(const Reply& reply) const noexcept {
    Window told;
    if (late.zone != nullptr && read_check(reply, told) == Fault::none) {
        late.learn(told, {}, now_millis());
    }
}

void Read::start(Shard& shard, std::string_view key, From from, Owner& owner, const ReadAs& as) noexcept {
    shard_ = &shard;
    shard.hedges().begin(msec_now());
    key_ = key;
    from_ = std::max(from, as.nodes());
    as_ = as;
    refusal_ = nullptr;
    begin(shard.deadlines(), &shard.counters(), owner);
    if (!ask_next()) {
        finish(from_ == From::any_node ? no_node : no_primary);
    }
}

/// False when there is no further node to ask. True says nothing of what is left: the command may have come
/// back, and the read ended, before this returns.
bool Read::ask_next() noexcept {
    const Asked asked = nodes_asked();
    if (from_ != From::any_node) {
        Node* const node = asked.count == 0 ? shard_->nodes().choose_primary() : nullptr;
        return node != nullptr && ask(*node);
    }
    Node* const node = choose(asked);
    if (node == nullptr) {
        return false;
    }
    if (!hedges_) {
        hedge_in(hedge_after(*node));
    }
    return ask(*node);
}

/// How long the node may be silent before another one is asked, too. Where reads spread, others may be much
/// nearer than this one.
std::optional<Deadlines::Wait> Read::hedge_after(const Node& node) const noexcept {
    const Deadlines& deadlines = shard_->deadlines();
    const std::uint64_t takes = node.answer_time().smoothed().value_or(0);
    const auto wait = deadlines.wait_of(static_cast<Msec>((3 * takes + 1999) / 1000));
    if (!shard_->nodes().reads_spread()) {
        return wait;
    }
    const auto third = deadlines.wait_within(deadlines.check_timeout() / 3);
    return third ? std::min(wait.value_or(*third), *third) : wait;
}

/// The node that is asked next, or null. One that refuses reads says why, or answers again, or of this key.
Node* Read::choose(const Asked& asked) const noexcept {
    Node* const node = shard_->nodes().choose(asked.nodes.data(), asked.count);
    return node != nullptr || refusal_ != nullptr
               ? node
               : shard_->nodes().choose_despite_refusal(asked.nodes.data(), asked.count);
}

Read::Asked Read::nodes_asked() const noexcept {
    Asked asked;
    for (const ReadCommand* command : commands_) {
        if (command != nullptr) {
            asked.nodes[asked.count++] = command->node;
        }
    }
    return asked;
}

bool Read::ask(Node& node) noexcept {
    ReadCommand** const place = std::find(commands_.begin(), commands_.end(), nullptr);
    if (place == commands_.end()) {
        return false;
    }
    try {
        ReadCommand& command = FreeList<ReadCommand>::common().take();
        command.begin(*this, node);
        *place = &command;
        node.submit(command);
        return true;
    } catch (...) {
        return false;
    }
}

/// The node that was asked is silent. Another one is asked, too, if it may be expected to answer before that
/// one, which counts as no quicker than the time for which it has been silent; or at the last moment.
void Read::hedge() noexcept {
    stop_hedging();
    const Asked asked = nodes_asked();
    Node* const node = asked.count < most_commands ? choose(asked) : nullptr;
    if (node == nullptr) {
        return;
    }
    const std::uint64_t now = TurnClock::micros();
    const std::uint64_t takes = node->takes(now).value_or(0);
    const std::uint64_t silent = waited_micros(now);
    const std::uint64_t whole = 1000 * shard_->deadlines().check_timeout();
    const std::uint64_t due = std::min(takes, last_moment(takes, whole).value_or(takes));
    if (silent < due) {
        hedge_in(shard_->deadlines().wait_within(static_cast<Msec>((due - silent) / 1000)));
    } else if (silent + takes < whole && shard_->hedges().take(msec_now())) {
        hedge_in(hedge_after(*node));
        ask(*node);
    }
}

/// Never, where check_timeout is over by then.
void Read::hedge_in(std::optional<Deadlines::Wait> wait) noexcept {
    if (wait) {
        hedges_ = true;
        shard_->deadlines().start(hedge_, *wait);
    }
}

void Read::stop_hedging() noexcept {
    if (std::exchange(hedges_, false)) {
        shard_->deadlines().remove(hedge_);
    }
}

void Read::answered(ReadCommand& command, Node& node, const Reply& reply) noexcept {
    if (from_ == From::still_primary && !node.is_primary()) {
        lost(command);
        return;
    }
    Told told;
    const Fault fault = command.take(reply, told);
    window_ = told.window;
    held_ = told.held;
    if (fault == Fault::none) {
        node.served();
        by_primary_ = node.is_primary();
        forget(command);
        finish(nullptr);
    } else if (node.blame(fault, command.name(), reply, command.access()) == Blame::node) {
        lost(command);
    } else if (fault == Fault::noperm || lacks_key_right(reply)) {
        refusal_ = explain(fault, reply);
        forget(command);
        if (node.is_primary()) {
            stop_hedging();  // it would be asked again
        } else {
            node.refuse_reads();  // also for want of a key: most patterns are of the prefix of all keys
        }
        if (node.is_primary() || !ask_next()) {  // the users of other nodes may have more rights
            finish_if_alone(refusal_);
        }
    } else {
        forget(command);
        finish(explain(fault));
    }
}

/// This node will not answer: another one may.
void Read::lost(ReadCommand& command) noexcept {
    forget(command);
    if (!ask_next()) {
        const char* const none_is_up = from_ == From::any_node ? no_node : no_primary;
        finish_if_alone(refusal_ != nullptr ? refusal_ : none_is_up);
    }
}

/// A node of a cluster has sent the command to one that does not take it: it would do so again.
void Read::led_nowhere(ReadCommand& command) noexcept {
    forget(command);
    finish_if_alone(no_successor);
}

void Read::finish_if_alone(const char* failure) noexcept {
    if (std::all_of(commands_.begin(), commands_.end(),
                    [](const ReadCommand* other) { return other == nullptr; })) {
        finish(failure);
    }
}

void Read::forget(ReadCommand& command) noexcept {
    std::replace(commands_.begin(), commands_.end(), &command, static_cast<ReadCommand*>(nullptr));
    FreeList<ReadCommand>::common().put_back(command);
}

/// Commands that are still under way belong to their nodes alone.
void Read::let_go() noexcept {
    stop_hedging();
    for (ReadCommand*& command : commands_) {
        if (command != nullptr) {
            command->read = nullptr;
            if (late_ != nullptr) {
                command->late = *late_;
            }
            command = nullptr;
        }
    }
}

void Read::finish(const char* failure) noexcept {
    let_go();
    end(failure);
}

void Read::cancel() noexcept {
    if (waiting()) {
        let_go();
        stop();
    }
}

}  // namespace rate_limit
