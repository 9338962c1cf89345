#include "limiter/upkeep/upkeep.h"

#include <algorithm>
#include <cinttypes>

#include "core/machine/workers/note_walk.h"
#include "core/overrides/known_overrides.h"
#include "limiter/charges/backlog.h"
#include "limiter/configuration.h"
#include "limiter/kinds/notes.h"
#include "limiter/loop.h"
#include "limiter/store/hot_key_log.h"
#include "limiter/store/store.h"
#include "limiter/store_conf.h"
#include "limiter/upkeep/note_looks.h"
#include "limiter/upkeep/slots_correction.h"
#include "limiter/worker.h"
#include "limiter/zone.h"

namespace rate_limit {

namespace {

constexpr Msec interval = 1000;
constexpr Msec interval_with_tokens = 250;    // while tokens are noted, or running requests counted
constexpr std::uint32_t look_for_dead = 200;  // less than that: a turn of a worker alone never misses it

// The pause between two turns, in which the worker serves requests; last_gap is the last worker's. Without a
// pause nginx would run the timer again before it serves a request.
constexpr Msec gap = 5;
constexpr Msec last_gap = 1;

// How long the last worker waits for a primary that is connected and does not serve, or for another one.
constexpr Msec last_wait = 3000;

// With more unanswered commands than this the last worker gives back no more for now.
constexpr std::size_t most_under_way = 1000;

/// The search of the backlog that the last worker begins when no command is under way any more: a worker may
/// have put charges or refunds behind the place that the search before had reached.
enum class Search : unsigned char { none, due, begun };

struct Round {
    static constexpr WorkerPart part = WorkerPart::upkeep;

    // While tokens are noted a leaving worker stays: the last one gives them back.
    Timer timer{this, on_timer, Timer::Worker::leaves};
    NoteWalk walk;
    SlotsCorrection correction;
    Stage stage = Stage::running;
    Msec known = 0;           // when this worker began to note tokens
    Msec left = 0;            // when this worker was first seen to leave, while others stay
    Msec called = 0;          // when this worker last said which nodes it uses
    Msec added_up = 0;        // when it was last time for tell_hot_keys()
    Msec looked_for = 0;      // when charges were last searched for, for all shards
    Msec moved = 0;           // when the last worker last gave tokens back, or began to
    bool unanswered = false;  // something was sent that Redis has to be asked about again
    NoteLooks looks;
    Search search = Search::none;

    static void on_timer(void* self) noexcept;
};

Round& the_round() noexcept {
    return Worker::current().part<Round>();
}

template <typename Fn>
void for_each_slot_shard(Store& store, bool waits, Fn& fn) noexcept {
    if (waits) {
        store.make_some();  // any of them may have to take up waiting charges
    }
    store.for_each_shard([&](Shard& shard) { fn(&shard, waits); });
}

/// Calls fn(Shard*, waits) for each shard: `waits` says that the zone has charges for it, or for any of its
/// cluster. The shard is null where that is not so and this worker has not used its store yet.
template <typename Fn>
void for_each_shard(const Configuration& main, Zone& zone, Fn&& fn) noexcept {
    for (StoreConf* conf : main.stores) {
        const Routes& routes = conf->routes;
        const Route count = routes.has_slots() ? 1 : static_cast<Route>(routes.size());
        for (Route route = 0; route < count; ++route) {
            const bool waits = count_waiting(zone.debt_counts(), routes, route, Routes::all_parts) != 0;
            Store* store = waits ? live_store(*conf) : conf->live;
            if (store != nullptr) {
                store->follow();  // a leaving worker's last chance to learn of another primary
            }
            if (store == nullptr) {
                fn(static_cast<Shard*>(nullptr), waits);
            } else if (!routes.has_slots()) {
                fn(&store->at(route), waits);
            } else {
                for_each_slot_shard(*store, waits, fn);
            }
        }
    }
}

/// Work left for charges and their answers, of all shards.
struct Sending {
    bool searching = false;  // more may be found in the next turn
    bool left = false;       // some wait
    bool waiting = false;    // some wait for a primary that may only be late, or may be replaced
    bool able = false;       // some primary can take tokens back, as far as this worker knows
    std::size_t under_way = 0;
    std::size_t unanswered = 0;  // batches of tokens
};

/// Batches that were not answered are asked for again. Returns how many there are.
std::size_t ask_again(const Configuration& main) noexcept {
    std::size_t unanswered = 0;
    for (const StoreConf* conf : main.stores) {
        unanswered += conf->live != nullptr ? conf->live->ask_again() : 0;
    }
    return unanswered;
}

Sending send_for_all_shards(const Configuration& main, Zone& zone, bool search) noexcept {
    Sending sending;
    for_each_shard(main, zone, [&](Shard* shard, bool waits) {
        if (shard == nullptr) {
            sending.able = true;
            return;
        }
        Charges& charges = shard->charges();
        if (search) {
            charges.search_again();
        }
        if (charges.waiting() != 0 && (search || charges.searching())) {
            charges.send_batch();
        }
        const Node& primary = shard->nodes().primary();
        sending.searching = sending.searching || (charges.searching() && primary.usable());
        sending.able = sending.able || primary.usable();
        const bool replaceable = primary.learned() && !primary.usable();
        sending.left = sending.left || waits;
        sending.waiting = sending.waiting || (waits && (primary.suspended() || replaceable));
        sending.under_way += charges.under_way();
    });
    sending.unanswered = ask_again(main);
    return sending;
}

NoteWalk::Turn walk_turn(Round& round, const Configuration& main, Zone& zone) noexcept {
    const Millis now = now_millis();
    const NoteWalk::Aim aim = round.stage == Stage::running ? NoteWalk::Aim::due : NoteWalk::Aim::all;
    const NoteWalk::Turn turn = round.walk.turn(
        zone.debts(), aim, now, zone.places().deaths(), [&](const Seen& seen) { count_seen(zone, seen); },
        [&](const Noted& seen) { return round.looks.look_after(main, seen, now, round.stage); });
    log_line(process_log(), LogLevel::debug, "rate limit: looked at %zu sets and %zu notes, gave back %zu",
             turn.sets, turn.looks, turn.refunds);
    return turn;
}

/// True once in each `period`; `last` is when it was last true.
bool is_time(Msec& last, Msec period) noexcept {
    const bool time = msec_now() - last >= period;
    last = time ? msec_now() : last;
    return time;
}

/// Tells all workers which nodes this one uses.
void call_roll(const Configuration& main) noexcept {
    for (const StoreConf* conf : main.stores) {
        if (conf->live != nullptr) {
            conf->live->call_roll();
        }
    }
}

/// One turn of this worker for all shards. Returns when to come back.
Msec ordinary_turn(Round& round, const Configuration& main) {
    Zone& zone = *main.zone;
    if (is_time(round.called, interval)) {
        call_roll(main);
    }
    const bool search = is_time(round.looked_for, interval);
    const Sending sending = send_for_all_shards(main, zone, search);
    round.unanswered = sending.unanswered != 0;

    const auto ticks = ticks_now();
    const bool counting = zone.places().end() != 0;
    const bool soon = (zone.walk().noted() && sending.able) || counting || round.unanswered;
    const auto period = static_cast<std::uint32_t>(soon ? interval_with_tokens : interval);
    const std::size_t sets = zone.debts().sets();
    if (round.walk.idle()) {
        const SharedWalk::Slice slice = zone.walk().take(sets, NoteWalk::sets_a_turn, ticks, period);
        if (!slice.empty() && slice.next == 0) {
            zone.debt_counts().begin_round();
            zone.running_counts().begin_round();
        }
        round.walk.begin(slice);
    }
    if (!round.walk.idle() && walk_turn(round, main, zone).tokens) {
        zone.walk().note();
    }
    const bool again = sending.searching || !round.walk.idle();
    return again ? gap : std::max<Msec>(gap, zone.walk().pause(sets, ticks, period));
}

/// Finds workers that have died, and takes what they had running out of all counts. Returns when to come
/// back.
Msec count_the_living(Round& round, Zone& zone) noexcept {
    if (zone.places().end() == 0) {
        return interval;
    }
    zone.find_dead(ticks_now(), look_for_dead);
    return round.correction.turn(zone) ? gap : interval_with_tokens;
}

/// One turn of the last worker's walk over all notes. Returns the wait until the next turn; sets `over` if
/// there is none.
Msec last_turn(Round& round, const Configuration& main, bool& over) {
    over = false;
    Zone& zone = *main.zone;
    const SharedWalk::Slice all{0, zone.debts().sets()};
    if (round.stage == Stage::running) {
        round.stage = Stage::last;
        round.moved = msec_now();
        round.walk.begin(all);
    } else if (round.stage == Stage::last && msec_now() - round.moved >= last_wait) {
        round.stage = Stage::over;
        round.walk.begin(all);
    }
    const bool due = is_time(round.looked_for, interval_with_tokens) || round.search == Search::due;
    const Sending sending = send_for_all_shards(main, zone, due);
    if (sending.under_way != 0) {
        round.search = Search::none;
    } else if (round.search == Search::due) {
        round.search = Search::begun;
    }
    if (round.stage == Stage::last && sending.under_way >= most_under_way) {
        return last_gap;
    }
    if (!round.walk.idle()) {
        if (walk_turn(round, main, zone).refunds != 0) {
            round.moved = msec_now();
        }
        if (!round.walk.idle()) {
            return last_gap;
        }
    }
    const bool again = round.looks.kept || sending.waiting || sending.unanswered != 0;
    const bool ends = !(again || sending.searching || sending.under_way != 0);
    if (ends && sending.left && round.search == Search::none && round.stage == Stage::last) {
        round.search = Search::due;
        return last_gap;
    }
    over = round.stage == Stage::over || ends;
    if (again) {
        round.looks.kept = false;
        round.walk.begin(all);
    }
    return again ? interval_with_tokens : gap;
}

/// One turn of a leaving worker. If other workers stay, it may leave after an interval, in which they learn
/// of the tokens, and has asked for last_wait at most what became of what was not answered; the last worker
/// stays until it has given all of them back, or has given up.
Msec leaving_turn(Round& round, const Configuration& main, bool& over) {
    if (main.zone->leave()) {
        return last_turn(round, main, over);
    }
    const std::size_t unanswered = ask_again(main);
    round.left = round.left != 0 ? round.left : msec_now();
    const bool asks = unanswered != 0 && msec_now() - round.left <= last_wait;
    over = !asks && msec_now() - round.known > interval;
    return interval_with_tokens;
}

/// The configuration at work is asked for each time: without a master process a reload keeps this process.
void Round::on_timer(void* self) noexcept {
    const Configuration* main = configuration_at_work();
    Round& round = *static_cast<Round*>(self);
    Msec wait = interval;
    bool stays = false;
    bool over = true;
    if (main != nullptr && main->zone != nullptr) {
        main->overrides->tidy(now_millis());
        wait = count_the_living(round, *main->zone);
    }
    if (main != nullptr && main->zone != nullptr && !main->stores.empty()) {
        if (is_time(round.added_up, interval)) {
            tell_hot_keys(*main);
        }
        try {
            const Msec next = is_leaving() ? leaving_turn(round, *main, over) : ordinary_turn(round, *main);
            wait = std::min(wait, next);
        } catch (...) {
            over = true;  // no memory: a worker that stays tries again later
        }
        stays = is_leaving() ? !over : main->zone->walk().noted() || round.unanswered;
    }
    // The timer is set even where this worker need not stay: while its requests keep it, it may become the
    // last one, and a primary may come back.
    round.timer.keep_worker(stays);
    round.timer.set(wait);
}

/// This worker has noted tokens, or something waits while it leaves: it stays for the next round.
void expect_more() noexcept {
    Round& round = the_round();
    if (round.timer.keeps_worker() || !round.timer.armed()) {
        return;
    }
    if (round.stage == Stage::over) {
        round.stage = Stage::last;
        round.moved = msec_now();
    }
    round.known = msec_now();
    round.timer.keep_worker(true);
    round.timer.set(interval_with_tokens);
}

}  // namespace

void start_upkeep(const Configuration& main) noexcept {
    Round& round = the_round();
    Zone* zone = main.zone;
    round.timer.keep_worker(zone != nullptr && zone->walk().noted());
    Zone::on_more(expect_more);
    // Workers start at different times: if they searched at once, all but one would find nothing.
    round.timer.set(1 + static_cast<Msec>(random_bits()) % interval);
}

namespace {

struct Undelivered {
    std::uint64_t windows = 0;
    std::uint64_t charges = 0;
    std::uint64_t refunds = 0;  // windows, too
};

Undelivered undelivered(Zone& zone) noexcept {
    Undelivered all;
    zone.debts().for_each([&](const DebtRecord& waiting) {
        if (waiting.kind == DebtKind::refunds) {
            all.refunds += 1;
        } else if (waiting.kind == DebtKind::charges) {
            all.windows += 1;
            all.charges += waiting.charges();
        }
    });
    return all;
}

}  // namespace

void log_left_behind(Zone& zone) noexcept {
    const Undelivered all = undelivered(zone);
    const bool told = zone.told_left_behind(all.charges + all.refunds);
    if (told || all.charges + all.refunds == 0) {
        return;
    }
    log_line(process_log(), LogLevel::error,
             "rate limit: a worker of a former \"rate_limit_zone\" ends while %" PRIu64 " charges of %" PRIu64
             " windows, and refunds of %" PRIu64
             ", wait there for Redis: they are lost unless another such worker can still send them",
             all.charges, all.windows, all.refunds);
}

void log_undelivered(Zone& zone) noexcept {
    const auto [windows, charges, refunds] = undelivered(zone);
    if (windows != 0) {
        log_line(process_log(), LogLevel::error,
                 "rate limit: nginx ends while %" PRIu64 " charges of %" PRIu64
                 " windows wait for Redis: they are lost",
                 charges, windows);
    }
    if (refunds != 0) {
        log_line(process_log(), LogLevel::error,
                 "rate limit: nginx ends before it could give back tokens and charges of %" PRIu64
                 " windows in Redis: these count as used until the windows end",
                 refunds);
    }
}

}  // namespace rate_limit
