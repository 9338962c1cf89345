#include "limiter/overrides/shared_change.h"

#include <algorithm>
#include <utility>

#include "limiter/overrides/shared_overrides.h"
#include "limiter/store/shard.h"
#include "limiter/zone.h"
#include "redis/decode.h"

namespace rate_limit {

namespace {

constexpr const char* no_memory = "no memory";

/// A change would end the overrides that other machines know.
constexpr const char* not_usable =
    "what Redis has of them cannot be used, and this machine has seen none before: set it on another "
    "machine, or delete the key that error.log names";

constexpr const char* no_tree_takes_them =
    "they are above 16 MB or 250,000 fields: delete the key that error.log names";

/// It may read: what there is was read before.
constexpr const char* not_writable =
    "noperm: its user may not write to the key: give it ~ with that key, %R~ is not enough";

/// Why a command of a change was refused.
const char* reason_of(const Reply& error, bool writes) noexcept {
    return writes && lacks_key_right(error) ? not_writable : explain(fault_of(error), error);
}

}  // namespace

/// Both commands have check_timeout together.
bool SharedChange::start(const StoreConf& store, const Override& what, std::string field,
                         Answer::Owner& owner) noexcept {
    store_ = &store;
    what_ = what;
    field_ = std::move(field);
    trouble_ = Trouble::none;
    Shard* shard = shard_of_overrides(store);
    if (shard == nullptr) {
        return false;
    }
    begin(shard->deadlines(), nullptr, owner);
    try {
        submit(OverridesCommand::make(OverridesCommand::Kind::whole, overrides_key(store), *this));
    } catch (...) {
        finish(Trouble::unavailable, no_memory);
    }
    return true;
}

void SharedChange::submit(OverridesCommand& command) noexcept {
    Shard* shard = shard_of_overrides(*store_);
    Node* node = shard != nullptr ? shard->nodes().choose_primary() : nullptr;
    command_ = &command;
    asked_ = steady_nanos();
    if (node == nullptr) {
        command.give_up();
        command_ = nullptr;
        finish(Trouble::unavailable, no_primary);
        return;
    }
    node->submit(command);
}

void SharedChange::on_overrides(OverridesCommand::Kind kind, Delivery delivery, const Reply* reply) noexcept {
    const bool writes = kind == OverridesCommand::Kind::change;
    command_ = nullptr;
    if (delivery == Delivery::unsent) {
        finish(Trouble::unavailable, no_primary);
    } else if (delivery == Delivery::in_doubt) {
        finish(writes ? Trouble::in_doubt : Trouble::unavailable, no_answer);
    } else if (reply->is_error()) {
        finish(Trouble::unavailable, reason_of(*reply, writes));
    } else {
        try {
            writes ? take_written(*reply) : take_read(*reply);
        } catch (...) {
            finish(writes ? Trouble::in_doubt : Trouble::unavailable, no_memory);
        }
    }
}

/// If what there is cannot be used, all that this machine knows is written with the change, unless
/// somebody else has done so meanwhile.
void SharedChange::take_read(const Reply& reply) {
    if (reply.tree != nullptr && reply.tree->is_malformed()) {
        finish(Trouble::unavailable, reply.tree->lacks_memory() ? no_memory : no_tree_takes_them);
        return;
    }
    SharedOverrides shared;
    if (!read_overrides(*store_, reply, asked_, shared)) {
        finish(Trouble::unavailable, explain(Fault::malformed));
        return;
    }
    const bool usable = shared.error == SharedError::none;
    if (!usable && !shared.absent && !has_last_good(*store_)) {
        finish(Trouble::unavailable, not_usable);
        return;
    }
    if (usable) {
        take_up(*store_, shared);
    }
    const Millis now = now_millis();
    if (!clears() && !store_->zone->overrides().has_room(what_.subject, now)) {
        finish(Trouble::full, "there are too many");
        return;
    }
    const std::int64_t least = std::max({now, shared.version + 1, store_->shared_overrides->version() + 1});
    std::vector<std::string> arguments = {std::to_string(least), std::to_string(OverrideTable::most),
                                          usable ? "" : "=" + shared.raw_version, field_,
                                          clears() ? "" : write_value(what_)};
    for (auto& [field, value] :
         usable || !has_last_good(*store_) ? std::move(shared.ended) : last_good(*store_)) {
        arguments.push_back(field);
        arguments.push_back(value);
    }
    submit(OverridesCommand::change(overrides_key(*store_), std::move(arguments), *this));
}

void SharedChange::take_written(const Reply& reply) {
    SharedOverrides shared;
    if (!read_overrides(*store_, reply, asked_, shared)) {
        finish(Trouble::in_doubt, explain(Fault::malformed));
        return;
    }
    if (shared.absent) {
        finish(Trouble::full, "there are too many");
        return;
    }
    if (is_leaving()) {
        take_own(shared);
    } else if (shared.error == SharedError::none) {
        take_up(*store_, shared);
    }
    finish(Trouble::none, nullptr);
}

/// Workers of a later configuration take up the others.
void SharedChange::take_own(const SharedOverrides& shared) noexcept {
    OverrideTable& table = store_->zone->overrides();
    const auto own = std::find_if(shared.all.begin(), shared.all.end(),
                                  [this](const Override& what) { return what.subject == what_.subject; });
    // There was room for it when it was written.
    (void)(own == shared.all.end() ? table.remove(what_.subject, now_millis())
                                   : table.put(*own, now_millis()));
}

void SharedChange::finish(Trouble trouble, const char* failure) noexcept {
    trouble_ = trouble;
    end(failure);
}

/// A command that was not sent is not sent any more.
void SharedChange::deadline_passed() noexcept {
    const bool may_be_done =
        command_ != nullptr && command_->sent && command_->kind == OverridesCommand::Kind::change;
    if (command_ != nullptr) {
        command_->owner = nullptr;
        command_ = nullptr;
    }
    finish(may_be_done ? Trouble::in_doubt : Trouble::unavailable, too_late);
}

void SharedChange::cancel() noexcept {
    if (command_ != nullptr) {
        command_->owner = nullptr;
        command_ = nullptr;
    }
    if (waiting()) {
        stop();
    }
}

}  // namespace rate_limit
