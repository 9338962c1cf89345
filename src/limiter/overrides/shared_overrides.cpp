#include "limiter/overrides/shared_overrides.h"

#include <algorithm>
#include <new>
#include <unordered_set>

#include "core/decimal.h"
#include "limiter/client_id.h"
#include "limiter/configuration.h"
#include "limiter/overrides/overrides_command.h"
#include "limiter/store/store.h"
#include "limiter/tallies/tallies.h"
#include "limiter/worker.h"
#include "limiter/zone.h"
#include "redis/decode.h"

namespace rate_limit {

namespace {

/// The name by which the shard is chosen, and the end of the key.
constexpr std::string_view name_of_key = "!overrides";

/// Bytes of all fields; more are not taken.
constexpr std::size_t most_bytes = std::size_t{512} * 1024;

/// Values that SharedState::tell() remembers beside reasons: all is well, and so many found no room.
constexpr std::uint32_t told_nothing = 0;
constexpr std::uint32_t told_full(std::size_t left) noexcept {
    return static_cast<std::uint32_t>(left) << 2U | 1U;
}

/// Milliseconds between two looks of a machine, at least, and between two tries of a worker to have the turn.
constexpr std::uint32_t watch_interval = 800;
constexpr Msec short_pause = 250;

/// Nanoseconds until a version that did not come in time is read again.
constexpr Nanos rest = 300'000'000'000;

constexpr const char* too_slow = "not read, as they did not come within charge_timeout in three tries";

/// While no configuration shares any.
constexpr Msec long_pause = 1000;

std::uint64_t digest_of(const StoreConf& store) noexcept {
    return xxh64(store.name, 0);
}

/// The limits that this machine has, by what the zone knows them by; none, where a reload without a master
/// process has left it without http.
std::unordered_set<std::uint64_t> limits_here() {
    std::unordered_set<std::uint64_t> digests;
    const Configuration* const at_work = configuration_at_work();
    if (at_work == nullptr || at_work->tallies == nullptr) {
        return digests;
    }
    for (const Tally& tally : at_work->tallies->all()) {
        digests.insert(tally.digest);
    }
    return digests;
}

void tell_full(const StoreConf& store, std::size_t left) noexcept {
    if (store.shared_overrides->tell(told_full(left))) {
        log_line(process_log(), LogLevel::error,
                 "rate limit: %zu of the overrides that machines share by \"rate_limit_redis %s\" do not "
                 "hold here: "
                 "there is no room for them",
                 left, store.name.c_str());
    }
}

/// The way to bring overrides into Redis again.
enum class Remedy : unsigned char {
    change,    ///< the next override that is set
    deletion,  ///< the key is to be deleted: until then none can be set
    rights,    ///< the user is to have those to read them
    line,      ///< that to the server is to be mended, or the key is to be deleted
};

const char* describe(Remedy remedy) noexcept {
    switch (remedy) {
        case Remedy::change:
            return "the next one that is set replaces what is there";
        case Remedy::deletion:
            return "none can be set until you delete that key in Redis";
        case Remedy::line:
            return "delete that key in Redis, or mend the line to its server: they are read again every "
                   "five minutes";
        default:
            return "give that user +hmget, +hgetall and that key";
    }
}

void log_unusable(const StoreConf& store, const char* reason, Remedy remedy) noexcept {
    log_line(process_log(), LogLevel::error,
             "rate limit: the overrides at \"%s!overrides\" of \"rate_limit_redis %s\" are %s: those "
             "that were known hold until they end; %s",
             store.prefix.c_str(), store.name.c_str(), reason, describe(remedy));
}

/// Logs, once, that what Redis has cannot be taken up. What was known holds.
void tell_unusable(const StoreConf& store, const char* reason, Remedy remedy) noexcept {
    const auto word = static_cast<std::uint32_t>(xxh64(reason, 0)) | 2U;
    if (store.shared_overrides->tell(word)) {
        log_unusable(store, reason, remedy);
    }
}

void tell_forbidden(const StoreConf& store) noexcept {
    if (store.shared_overrides->forbid()) {
        log_unusable(store, "forbidden to the module's user", Remedy::rights);
    }
}

/// A machine that knows none would end the overrides of all machines by replacing what cannot be read.
Remedy remedy_for_fields(const StoreConf& store) noexcept {
    return has_last_good(store) ? Remedy::change : Remedy::deletion;
}

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
    void refuse_whole() noexcept;
    void note_missed() noexcept;

    const StoreConf& store_;
    Nanos asked_ = 0;
    std::int64_t version_ = 0;  // that the whole is read for
};

void Look::ask(OverridesCommand::Kind kind) noexcept {
    asked_ = steady_nanos();
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

/// While the primary is away, what was known holds. Where an operator has changed them since this look asked,
/// what it is told may be of before.
void Look::on_overrides(OverridesCommand::Kind kind, Delivery delivery, const Reply* reply) noexcept {
    if (delivery != Delivery::answered || store_.shared_overrides->has_taken_since(asked_)) {
        if (kind == OverridesCommand::Kind::whole && delivery == Delivery::in_doubt) {
            note_missed();
        }
        delete this;
        return;
    }
    if (fault_of(*reply) == Fault::noperm || lacks_key_right(*reply)) {
        tell_forbidden(store_);
        delete this;
        return;
    }
    if (kind == OverridesCommand::Kind::version && take_version(*reply)) {
        ask(OverridesCommand::Kind::whole);
        return;
    }
    store_.shared_overrides->allow();
    try {
        if (kind == OverridesCommand::Kind::whole) {
            take_whole(*reply);
        }
    } catch (...) {
        // without memory the next look does it
    }
    delete this;
}

/// True if the whole is to be read: it has changed, or there is room for what was left out of it.
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
        if (has_last_good(store_)) {
            tell_unusable(store_, "gone", Remedy::change);
        } else {
            state.look_well();
        }
        return false;
    }
    if (version.kind != ReplyValue::Kind::integer || version.integer <= 0 ||
        version.integer >= SharedOverrides::end_of_versions) {
        tell_unusable(store_, describe(SharedError::garbage), remedy_for_fields(store_));
        return false;
    }
    version_ = version.integer;
    if (state.is_refused(version.integer, asked_)) {
        state.look_badly();
        return false;
    }
    if (version.integer == state.version() && !state.is_incomplete()) {
        state.look_well();  // what was wrong since is mended
        return false;
    }
    return version.integer != state.version() || store_.zone->overrides().has_free_place(now_millis());
}

/// Overrides that no tree holds would be read each second. Their set cannot be changed either: a change reads
/// the whole first.
void Look::refuse_whole() noexcept {
    store_.shared_overrides->refuse(version_);
    tell_unusable(store_, describe(SharedError::too_large), Remedy::deletion);
}

/// Each read that takes longer than charge_timeout costs the connection to the primary.
void Look::note_missed() noexcept {
    if (store_.shared_overrides->miss(version_, asked_)) {
        store_.shared_overrides->refuse(version_, steady_nanos() + rest);
        tell_unusable(store_, too_slow, Remedy::line);
    }
}

void Look::take_whole(const Reply& reply) {
    if (reply.tree != nullptr && reply.tree->is_malformed()) {
        if (!reply.tree->lacks_memory()) {
            refuse_whole();
        }
        return;
    }
    SharedOverrides shared;
    if (!read_overrides(store_, reply, asked_, shared) || shared.version == 0) {
        return;  // it has changed since the version was read: the next look sees it
    }
    if (shared.error != SharedError::none) {
        store_.shared_overrides->refuse(shared.version);
        tell_unusable(store_, describe(shared.error), remedy_for_fields(store_));
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
        if (!store->asks_overrides && store->shared_overrides->take_turn(ticks_now(), watch_interval)) {
            Look::begin(*store);
        }
    }
    static_cast<Watch*>(self)->timer.set(any ? short_pause : long_pause);
}

}  // namespace

std::string overrides_key(const StoreConf& store) {
    return store.prefix + std::string(name_of_key);
}

Shard* shard_of_overrides(const StoreConf& store) noexcept {
    try {
        Store* live = live_store(store);
        return live != nullptr ? &live->at(live->route_of(name_of_key, overrides_key(store))) : nullptr;
    } catch (...) {
        return nullptr;
    }
}

bool read_overrides(const StoreConf& store, const Reply& reply, Nanos asked, SharedOverrides& shared) {
    shared.asked = asked;
    const TreeReply::Value root = reply.tree != nullptr ? reply.tree->root() : TreeReply::Value();
    if (reply.is_error() || !root.is_array() || root.count() % 2 != 0) {
        return false;
    }
    const std::unordered_set<std::uint64_t> here = limits_here();
    const Millis now = now_millis();
    std::size_t bytes = 0;
    for (TreeReply::Iterator part = root.begin(); part != root.end(); ++part) {
        const std::string_view field = part->text();
        const std::string_view value = (++part)->text();
        bytes += field.size() + value.size();
        if (field == "version") {
            shared.raw_version = value;
            continue;
        }
        SharedSubject subject;
        Override what;
        const SharedError error = read_shared(field, value, subject, what);
        what.subject.limit = limit_digest(store.name, subject.limit);
        shared.error = shared.error == SharedError::none ? error : shared.error;
        if (error == SharedError::none && what.until <= now) {
            shared.ended.emplace_back(field, value);
        } else if (error == SharedError::none && here.count(what.subject.limit) != 0) {
            what.subject.key =
                subject.key.empty() ? 0 : client_id(*store.zone, store.name, subject.limit, subject.key);
            what.store = digest_of(store);
            shared.all.push_back(what);
        }
    }
    shared.absent = root.count() == 0;
    const bool is_version = parse_digits(shared.raw_version, shared.version) && shared.version != 0 &&
                            shared.version < SharedOverrides::end_of_versions;
    shared.version = is_version ? shared.version : 0;
    if (bytes > most_bytes) {
        shared.error = SharedError::too_large;
    } else if (!is_version || root.count() / 2 > OverrideTable::most + 1) {
        shared.error = SharedError::garbage;
    }
    return true;
}

void take_up(const StoreConf& store, const SharedOverrides& shared) {
    if (is_leaving()) {
        return;
    }
    SharedState& state = *store.shared_overrides;
    const std::optional<std::size_t> left = store.zone->overrides().put_shared(
        digest_of(store), shared.all, state, {shared.version, shared.asked, steady_nanos()}, now_millis());
    if (!left) {
        return;
    }
    state.set_good_in(store.zone->machine());
    if (*left != 0) {
        tell_full(store, *left);
    } else {
        state.tell(told_nothing);
    }
}

bool has_last_good(const StoreConf& store) noexcept {
    return store.shared_overrides->has_last_good(store.zone->machine());
}

std::vector<SharedOverrides::Field> last_good(const StoreConf& store) {
    std::vector<SharedOverrides::Field> fields;
    const Configuration* const at_work = configuration_at_work();
    if (at_work == nullptr || at_work->tallies == nullptr) {
        return fields;
    }
    for (const Override& what : store.zone->overrides().read_shared(digest_of(store), now_millis())) {
        const auto& all = at_work->tallies->all();
        const auto tally = std::find_if(all.begin(), all.end(),
                                        [&](const Tally& one) { return one.digest == what.subject.limit; });
        if (tally != all.end()) {
            fields.emplace_back(write_field({tally->name, what.text, what.digested}), write_value(what));
        }
    }
    return fields;
}

void start_shared_watch() noexcept {
    Worker::current().part<Watch>().timer.set(1 + static_cast<Msec>(random_bits()) % short_pause);
}

}  // namespace rate_limit
