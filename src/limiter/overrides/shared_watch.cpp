#include "limiter/overrides/shared_watch.h"

#include <new>

#include "limiter/loop.h"
#include "limiter/overrides/overrides_command.h"
#include "limiter/overrides/shared_overrides.h"
#include "limiter/store/shard.h"
#include "limiter/worker.h"
#include "limiter/zone.h"
#include "redis/decode.h"

namespace rate_limit {

namespace {

/// Milliseconds between two looks of a machine, at least, and between two tries of a worker to have the turn.
constexpr std::uint32_t interval = 800;
constexpr Msec pause = 250;

/// While no configuration shares any.
constexpr Msec long_pause = 1000;

/// One look: at the version alone, and at the whole where that is not known. Ends with its answer.
class Look final : private OverridesCommand::Owner {
public:
    /// The store outlives it: what its nodes have not answered comes back before they end.
    static void begin(const StoreConf& store) noexcept {
        Look* look = new (std::nothrow) Look(store);
        if (look != nullptr) {
            look->ask(OverridesCommand::Kind::version);
        }
    }

private:
    explicit Look(const StoreConf& store) noexcept : store_(store) { store.asks_overrides = true; }
    ~Look() { store_.asks_overrides = false; }

    void ask(OverridesCommand::Kind kind) noexcept;
    void on_overrides(OverridesCommand::Kind kind, Delivery delivery, const Reply* reply) noexcept override;
    bool take_version(const Reply& reply) noexcept;
    void take_whole(const Reply& reply);

    const StoreConf& store_;
};

void Look::ask(OverridesCommand::Kind kind) noexcept {
    Shard* shard = shard_of_overrides(store_);
    Node* node = shard != nullptr ? shard->nodes().choose_primary() : nullptr;
    OverridesCommand* command = nullptr;
    try {
        command = node != nullptr ? &OverridesCommand::make(kind, overrides_key(store_), *this) : nullptr;
    } catch (...) {
        command = nullptr;
    }
    if (command != nullptr) {
        node->submit(*command);
    } else {
        delete this;
    }
}

/// While the primary is away, what was known holds.
void Look::on_overrides(OverridesCommand::Kind kind, Delivery delivery, const Reply* reply) noexcept {
    if (delivery != Delivery::answered) {
        delete this;
        return;
    }
    if (kind == OverridesCommand::Kind::version && take_version(*reply)) {
        ask(OverridesCommand::Kind::whole);
        return;
    }
    try {
        if (kind == OverridesCommand::Kind::whole) {
            take_whole(*reply);
        }
    } catch (...) {
        // without memory the next look does it
    }
    delete this;
}

/// A machine that knows no other text would end the overrides of all machines by replacing an unreadable one.
Remedy remedy_for_text(const StoreConf& store) noexcept {
    return store.shared_overrides->has_last_good() ? Remedy::change : Remedy::deletion;
}

/// True if the text is to be read.
bool Look::take_version(const Reply& reply) noexcept {
    SharedState& state = *store_.shared_overrides;
    if (reply.is_error()) {
        if (fault_of(reply) == Fault::wrongtype) {
            tell_unusable(store_, "not a hash", Remedy::deletion);
        }
        return false;
    }
    const ReplyValue& version = reply.values[0];
    if (!reply.is_array() || reply.malformed || reply.count != 1) {
        return false;
    }
    if (version.kind == ReplyValue::Kind::nil) {
        if (state.has_last_good()) {
            tell_unusable(store_, "gone", Remedy::change);
        }
        return false;
    }
    if (version.kind != ReplyValue::Kind::integer || version.integer <= 0 ||
        version.integer >= SharedOverrides::end_of_versions) {
        tell_unusable(store_, describe(SharedTextError::garbage), remedy_for_text(store_));
        return false;
    }
    return version.integer != state.version() && !state.is_refused(version.integer);
}

void Look::take_whole(const Reply& reply) {
    SharedOverrides shared;
    if (!read_overrides(reply, shared) || shared.version == 0) {
        return;  // it has changed since the version was read: the next look sees it
    }
    if (shared.error != SharedTextError::none) {
        store_.shared_overrides->refuse(shared.version);
        tell_unusable(store_, describe(shared.error), remedy_for_text(store_));
        return;
    }
    take_up(store_, shared);
}

struct Watch {
    static constexpr WorkerPart part = WorkerPart::shared_watch;

    Timer timer{this, on_timer, Timer::Worker::leaves};

    static void on_timer(void* self) noexcept;
};

/// The configuration at work is asked for each time: without a master process a reload keeps this process.
void Watch::on_timer(void* self) noexcept {
    if (is_leaving()) {
        return;
    }
    bool any = false;
    const Configuration* main = configuration_at_work();
    if (main == nullptr) {  // no http block any more
        static_cast<Watch*>(self)->timer.set(long_pause);
        return;
    }
    for (const StoreConf* store : main->stores) {
        if (store->shared_overrides == nullptr || !store->used || store->zone == nullptr) {
            continue;
        }
        any = true;
        if (!store->asks_overrides && store->shared_overrides->take_turn(ticks_now(), interval)) {
            Look::begin(*store);
        }
    }
    static_cast<Watch*>(self)->timer.set(any ? pause : long_pause);
}

}  // namespace

void start_shared_watch() noexcept {
    Worker::current().part<Watch>().timer.set(1 + static_cast<Msec>(random_bits()) % pause);
}

}  // namespace rate_limit
