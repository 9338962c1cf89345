#include "limiter/store/read.h"

#include <algorithm>

#include "core/free_list.h"
#include "limiter/store/shard.h"
#include "limiter/wire/script_command.h"
#include "redis/decode.h"

namespace rate_limit {

namespace {

/// No node but the primary runs scripts, and the clocks of replicas differ; and what a former primary knows
/// of slots may be lost with it.
constexpr Read::From nodes_for(WindowKind kind) noexcept {
    return kind == WindowKind::bucket  ? Read::From::primary
           : kind == WindowKind::slots ? Read::From::still_primary
                                       : Read::From::any_node;
}

}  // namespace

/// One node asked for one read. Belongs to the node until it is answered; `read` is null when nobody waits.
/// The scripts of buckets and of slots are asked for nothing, and write nothing then.
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

private:
    std::string_view write(CommandWriter& writer) override;

    bool calls_script() const noexcept { return words_of_script() != 0; }

    /// A number below all others changes nothing: the script says what stands.
    Hold question() const noexcept { return {read->shard_->holds().me(), -1, 0, 0, 0, Holds::ttl}; }
};

std::string_view ReadCommand::write(CommandWriter& writer) {
    switch (read->as_.kind) {
        case WindowKind::bucket:
            return writer.draw(read->key_, {1, read->as_.fill, 0, 0, 1}, with_text());
        case WindowKind::slots:
            return writer.hold(read->key_, question(), with_text());
        default:
            return writer.check(read->key_);
    }
}

Fault ReadCommand::take(const Reply& reply, Told& told) const noexcept {
    return draws()          ? read_told(reply, told)
           : calls_script() ? read_held(reply, question(), told.held)
                            : read_check(reply, told.window);
}

namespace {

constexpr const char* no_node = "no node of the shard is up";
constexpr const char* no_successor = "the node that serves the slot now is not up";

}  // namespace

void ReadCommand::answered(Node& from, Delivery delivery, const Reply* reply) noexcept {
    if (read == nullptr) {
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

void Read::start(Shard& shard, std::string_view key, From from, Owner& owner, const ReadAs& as) noexcept {
    shard_ = &shard;
    shard.hedges().begin(msec_now());
    key_ = key;
    from_ = std::max(from, nodes_for(as.kind));
    as_ = as;
    stage_ = Stage::first_third;
    refusal_ = nullptr;
    begin(shard.deadlines(), stage_, &shard.counters(), owner);
    if (!ask_next()) {
        finish(from_ == From::any_node ? no_node : no_primary);
    }
}

/// False when there is no further node to ask. True says nothing of what is left: the command may have come
/// back, and the read ended, before this returns.
bool Read::ask_next() noexcept {
    std::array<const Node*, most_commands> asked{};
    std::size_t count = 0;
    ReadCommand** slot = nullptr;
    for (ReadCommand*& command : commands_) {
        if (command == nullptr) {
            slot = &command;
        } else {
            asked[count++] = command->node;
        }
    }
    Node* node = nullptr;
    if (from_ == From::any_node) {
        node = shard_->nodes().choose(asked.data(), count);
        if (node == nullptr && refusal_ == nullptr) {  // it says why, or answers again, or of this key
            node = shard_->nodes().choose_despite_refusal(asked.data(), count);
        }
    } else if (count == 0) {
        node = shard_->nodes().choose_primary();
    }
    if (node == nullptr || slot == nullptr) {
        return false;
    }
    try {
        ReadCommand& command = FreeList<ReadCommand>::common().take();
        command.begin(*this, *node);
        *slot = &command;
        node->submit(command);
        return true;
    } catch (...) {
        return false;
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
        if (!node.is_primary()) {
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

void Read::deadline_passed() noexcept {
    if (stage_ == Stage::last_third) {
        finish(too_late);
        return;
    }
    stage_ = stage_ == Stage::first_third ? Stage::second_third : Stage::last_third;
    move_on(stage_);
    // A node that has failed is replaced at once; this one is only silent.
    if (shard_->hedges().take(msec_now())) {
        ask_next();
    }
}

/// Commands that are still under way belong to their nodes alone.
void Read::let_go() noexcept {
    for (ReadCommand*& command : commands_) {
        if (command != nullptr) {
            command->read = nullptr;
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
