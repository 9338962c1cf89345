#include "limiter/store/slots_read.h"

#include <string>

#include "core/free_list.h"
#include "limiter/store/shard.h"
#include "limiter/wire/script_command.h"

namespace rate_limit {

/// Belongs to the node until it is answered; `read` is null when nobody waits.
class SlotsReadCommand final : public ScriptCommand {
public:
    std::string_view encode(CommandWriter& writer) override {
        return writer.hold(key, question(), with_text());
    }
    const char* name() const noexcept override { return script(ScriptName::hold).file; }
    std::string_view window_key() const noexcept override { return key; }
    bool wanted() const noexcept override { return read != nullptr; }
    void answered(Node& from, Delivery delivery, const Reply* reply) noexcept override;

    SlotsRead* read = nullptr;
    std::string key;
    std::string_view me;

private:
    friend class SlotsRead;

    /// A number below all others changes nothing: the script says what stands.
    Hold question() const noexcept { return {me, -1, 0, 0, 0, Holds::ttl}; }
    const char* take(Node& from, const Reply& reply, Held& held) const noexcept;
};

void SlotsReadCommand::answered(Node& from, Delivery delivery, const Reply* reply) noexcept {
    const bool by_primary = delivery == Delivery::answered && from.is_primary();
    if (by_primary && read != nullptr && send_again(from, *reply)) {
        return;
    }
    SlotsRead* const of = read;
    Held held;
    const char* const failure = !by_primary ? no_answer : of != nullptr ? take(from, *reply, held) : nullptr;
    FreeList<SlotsReadCommand>::common().put_back(*this);
    if (of != nullptr) {
        of->command_ = nullptr;
        of->held_ = held;
        of->end(failure);
    }
}

const char* SlotsReadCommand::take(Node& from, const Reply& reply, Held& held) const noexcept {
    const Fault fault = read_held(reply, question(), held);
    if (fault == Fault::none) {
        from.served();
        return nullptr;
    }
    from.blame(fault, name(), reply, Access::write);  // a node that refuses a script still serves plain reads
    return explain(fault);
}

void SlotsRead::start(Shard& shard, std::string_view key, Owner& owner) noexcept {
    begin(shard.deadlines(), Stage::whole, &shard.counters(), owner);
    Node* node = shard.nodes().choose_primary();
    if (node == nullptr) {
        end(no_primary);
        return;
    }
    try {
        std::string copy(key);
        SlotsReadCommand& command = FreeList<SlotsReadCommand>::common().take();
        command.key.swap(copy);
        command.me = shard.holds().me();
        command.read = this;
        command.begin_by_digest();
        command_ = &command;
        node->submit(command);
    } catch (...) {
        end("no memory");
    }
}

void SlotsRead::deadline_passed() noexcept {
    command_->read = nullptr;
    command_ = nullptr;
    end(too_late);
}

void SlotsRead::cancel() noexcept {
    if (command_ != nullptr) {
        command_->read = nullptr;
        command_ = nullptr;
    }
    if (waiting()) {
        stop();
    }
}

}  // namespace rate_limit
