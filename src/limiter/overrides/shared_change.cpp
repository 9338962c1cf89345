#include "limiter/overrides/shared_change.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/overrides/override_table.h"
#include "limiter/overrides/shared_overrides.h"
#include "limiter/store/shard.h"
#include "redis/decode.h"

namespace rate_limit {

namespace {

/// After so many times that others were faster.
constexpr unsigned most_tries = 8;

constexpr const char* no_memory = "no memory";

/// A change would end the overrides that other machines know.
constexpr const char* not_usable =
    "what Redis has of them cannot be used, and this machine has seen none before: set it on another "
    "machine, or delete the key that error.log names";

}  // namespace

bool SharedChange::start(const StoreConf& store, SharedOverride what, bool clears,
                         Answer::Owner& owner) noexcept {
    store_ = &store;
    what_ = std::move(what);
    clears_ = clears;
    owner_ = &owner;
    tries_ = 0;
    trouble_ = Trouble::none;
    return ask();
}

/// Asks what there is. Each question has check_timeout for its answer. False without memory.
bool SharedChange::ask() noexcept {
    Shard* shard = shard_of_overrides(*store_);
    if (shard == nullptr) {
        return false;
    }
    if (waiting()) {
        stop();
    }
    begin(shard->deadlines(), Stage::whole, nullptr, *owner_);
    try {
        submit(OverridesCommand::make(OverridesCommand::Kind::whole, overrides_key(*store_), *this));
    } catch (...) {
        finish(Trouble::unavailable, no_memory);
    }
    return true;
}

void SharedChange::submit(OverridesCommand& command) noexcept {
    Shard* shard = shard_of_overrides(*store_);
    Node* node = shard != nullptr ? shard->nodes().choose_primary() : nullptr;
    command_ = &command;
    if (node == nullptr) {
        command.give_up();
        command_ = nullptr;
        finish(Trouble::unavailable, no_primary);
        return;
    }
    node->submit(command);
}

void SharedChange::on_overrides(OverridesCommand::Kind kind, Delivery delivery, const Reply* reply) noexcept {
    const bool writes = kind == OverridesCommand::Kind::replace;
    command_ = nullptr;
    if (delivery == Delivery::unsent) {
        finish(Trouble::unavailable, no_primary);
    } else if (delivery == Delivery::in_doubt) {
        finish(writes ? Trouble::in_doubt : Trouble::unavailable, no_answer);
    } else if (reply->is_error()) {
        finish(Trouble::unavailable, explain(fault_of(*reply)));
    } else {
        try {
            writes ? take_written(*reply) : take_read(*reply);
        } catch (...) {
            finish(writes ? Trouble::in_doubt : Trouble::unavailable, no_memory);
        }
    }
}

void SharedChange::take_read(const Reply& reply) {
    SharedOverrides shared;
    if (!read_overrides(reply, shared)) {
        finish(Trouble::unavailable, explain(Fault::malformed));
        return;
    }
    const bool usable = shared.version != 0 && shared.error == SharedTextError::none;
    const Millis now = now_millis();
    if (usable) {
        all_ = std::move(shared.all);
    } else if (std::optional<std::vector<SharedOverride>> known = last_good(*store_)) {
        all_ = std::move(*known);
    } else if (!shared.absent) {
        finish(Trouble::unavailable, not_usable);
        return;
    }
    all_.erase(std::remove_if(
                   all_.begin(), all_.end(),
                   [&](const SharedOverride& what) { return what.until <= now || what.same_subject(what_); }),
               all_.end());
    if (!clears_) {
        all_.push_back(what_);
    }
    version_ = std::max({now, shared.version + 1, store_->shared_overrides->version() + 1});
    if (version_ >= SharedOverrides::end_of_versions) {
        version_ = now;  // others take it up once what they know is some seconds old
    }
    const std::string text = write_shared_text(all_);
    if (all_.size() > OverrideTable::most || text.size() > most_shared_text ||
        (!clears_ && !has_room(*store_, all_, what_))) {
        finish(Trouble::full, "there are too many");
        return;
    }
    submit(OverridesCommand::replace(overrides_key(*store_), shared.raw_version, version_, text, *this));
}

/// Others have replaced what was read: all of it anew.
void SharedChange::take_written(const Reply& reply) {
    const bool known = reply.is_array() && !reply.malformed && reply.count == 2 &&
                       reply.values[0].kind == ReplyValue::Kind::integer;
    if (!known) {
        finish(Trouble::in_doubt, explain(Fault::malformed));
        return;
    }
    if (reply.values[0].integer == 0) {
        if (++tries_ == most_tries || !ask()) {
            finish(Trouble::conflict, "others change them at the same time");
        }
        return;
    }
    if (is_leaving()) {
        take_own(*store_, what_, clears_);
        finish(Trouble::none, nullptr);
        return;
    }
    SharedOverrides written;
    written.version = version_;
    written.text = write_shared_text(all_);
    written.all = std::move(all_);
    take_up(*store_, written);
    finish(Trouble::none, nullptr);
}

void SharedChange::finish(Trouble trouble, const char* failure) noexcept {
    trouble_ = trouble;
    all_.clear();
    end(failure);
}

/// A command that was not sent is not sent any more.
void SharedChange::deadline_passed() noexcept {
    const bool may_be_done =
        command_ != nullptr && command_->sent && command_->kind == OverridesCommand::Kind::replace;
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
