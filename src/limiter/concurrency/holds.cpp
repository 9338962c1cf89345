#include "limiter/concurrency/holds.h"

#include <optional>

#include "core/free_list.h"
#include "limiter/charges/charges.h"
#include "limiter/charges/write_blame.h"
#include "limiter/concurrency/hold_command.h"
#include "limiter/store_conf.h"
#include "limiter/tallies/tallies.h"
#include "limiter/zone.h"
#include "redis/script_reply.h"

namespace rate_limit {

namespace {

/// How often requests look whether another worker's call has been answered, in milliseconds, and how many of
/// them in one turn of the event loop.
constexpr Msec retry_pause = 2;
constexpr std::size_t most_tries = 500;

/// Milliseconds that a note lives; each look prolongs it.
constexpr Millis note_life = 10 * Holds::ttl;

constexpr const char* no_room = "no room in \"rate_limit_zone\": enlarge it";
constexpr const char* no_place =
    "more workers count running requests than \"rate_limit_zone\" has places for: enlarge it";

/// Redis's word on slots: when a request may be let in is not known, so the next one may try in a second.
Window full_for(std::int64_t used) noexcept {
    return {used, propose_reset(WindowKind::slots, 1, now_millis())};
}

}  // namespace

Holds::Holds(const StoreConf& store, Route route, Nodes& nodes, Charges& charges, ShardCounters& counters,
             Deadlines& deadlines) noexcept
    : store_(store.name),
      routes_(store.routes),
      route_(route),
      nodes_(nodes),
      charges_(charges),
      counters_(counters),
      deadlines_(deadlines),
      zone_(*store.zone),
      patience_(static_cast<Millis>(store.check_timeout)) {
    constexpr char digits[] = "0123456789abcdef";
    for (std::size_t i = 0; i < me_.size(); ++i) {
        me_[i] = digits[zone_.machine() >> (4 * i) & 15];
    }
}

SlotsTerms Holds::terms(std::int64_t limit, Truth truth) const noexcept {
    return {limit, truth, ttl, patience_, now_millis()};
}

void Holds::enter(Entrance& entrance, const KeySlots& of, Answer::Owner& owner) noexcept {
    entrance.of_ = of;
    entrance.begin(deadlines_, &counters_, owner);
    try_to_enter(entrance, Asking::at_once);
}

/// `later` is for a request that has stood in line before: it is not counted among those that wait again.
void Holds::try_to_enter(Entrance& entrance, Asking asking) noexcept {
    auto slots = zone_.slots();
    if (!slots) {
        entrance.fail(no_place);
        return;
    }
    const bool may_ask = nodes_.choose_primary() != nullptr;
    const SlotsTerms its_terms = terms(entrance.of_.limit);
    SlotsEntry entry = slots->enter(entrance.of_.id, its_terms, may_ask ? asking : Asking::later);
    if (entry.outcome == SlotsOutcome::ask && may_ask && asking == Asking::later) {
        entry = slots->enter(entrance.of_.id, its_terms, Asking::at_once);
    }
    switch (entry.outcome) {
        case SlotsOutcome::admitted:
        case SlotsOutcome::rejected:
            entrance.serve(entry.outcome == SlotsOutcome::admitted ? 1 : 0, full_for(entry.used));
            break;
        case SlotsOutcome::no_room:
            entrance.fail(no_room);
            break;
        case SlotsOutcome::wait:
            stand_in_line(entrance);
            break;
        case SlotsOutcome::ask:
            if (may_ask) {
                ask(entrance, entry.call);
            } else {
                entrance.fail(no_primary);
            }
            break;
    }
}

/// Behind the call of this worker, if that is the one under way.
void Holds::stand_in_line(Entrance& entrance) noexcept {
    entrance.leave();
    const auto found = open_.find(entrance.of_.id);
    if (found != open_.end()) {
        entrance.join(found->second->waiting);
        return;
    }
    entrance.join(elsewhere_);
    if (!again_.armed()) {
        again_.set(retry_pause);
    }
}

/// The note comes first: slots that are not noted would lapse while requests run.
void Holds::ask(Entrance& entrance, const SlotsCall& call) noexcept {
    entrance.leave();
    const bool noted = note(entrance.of_);
    if (noted && send(entrance.of_, call, &entrance)) {
        return;
    }
    if (auto slots = zone_.slots(); slots && !noted) {
        slots->give_up(entrance.of_.id, terms(call.limit), call);
    }
    entrance.fail(noted ? no_primary : no_room);
}

/// `waits` is the request that waits for the answer, if there is one: it stands in line before the node gets
/// the command, which may fail at once and is free then. False: there is no command, and the record knows.
bool Holds::send(const KeySlots& of, const SlotsCall& call, Entrance* waits) noexcept {
    Node* node = nodes_.choose_primary();
    HoldCommand* command = nullptr;
    if (node != nullptr) {
        try {
            command = &FreeList<HoldCommand>::common().take();
            command->begin(*this, {me_.data(), me_.size()}, of, call);
            open_[of.id] = command;
        } catch (...) {
            if (command != nullptr) {
                FreeList<HoldCommand>::common().put_back(*command);
            }
            node = nullptr;
        }
    }
    if (node == nullptr) {
        if (auto slots = zone_.slots()) {
            slots->give_up(of.id, terms(call.limit), call);
        }
        return false;
    }
    deadlines_.start(*command, Deadlines::whole);
    if (waits != nullptr) {
        waits->join(command->waiting);
    }
    node->submit(*command);
    return true;
}

bool Holds::note(const KeySlots& of) noexcept {
    if (of.key.size() > DebtRecord::max_key) {
        return false;
    }
    zone_.note_tokens();
    const Millis now = now_millis();
    const std::uint64_t digest = digest_of(routes_, route_, of.key);
    return zone_.debts().update(note_id_of(of.id), now, [&](DebtRecord& note) {
        if (note.reset == 0 || note.shard != digest) {
            note.kind = DebtKind::slots;
            note.window_kind = WindowKind::slots;
            note.slots = {};
            note.slots.looked_at = now;
            note.shard = digest;
            note.set_key(of.key);
        }
        note.slots.limit = of.limit;
        note.slots.tag = RunningCounts::tag_of(limit_digest(store_, of.name));
        note.reset = now + note_life;
        ++note.slots.times;  // a look that has begun before does not end it
    });
}

void Holds::leave(const KeySlots& of) noexcept {
    auto slots = zone_.slots();
    if (!slots) {
        return;
    }
    const IdleSlots idle = is_leaving() ? IdleSlots::go_back : IdleSlots::stay;
    if (const auto call = slots->leave(of.id, terms(of.limit), idle)) {
        send(of, *call);
    }
    // The slot stays where a call is under way, and a call may fail: a look of the last worker comes after
    // it.
    if (zone_.is_last()) {
        zone_.note_waiting();
    }
}

/// The requests that wait for it are told, or try again.
void Holds::take(HoldCommand& command, Node& from, const Reply* reply) noexcept {
    close(command);
    Held held;
    const Fault fault = reply != nullptr ? read_held(*reply, command.told(), held) : Fault::none;
    if (reply != nullptr) {
        blame_write(from, charges_, fault, command.name(), *reply);
    }
    const bool told = reply != nullptr && fault == Fault::none;
    if (told && held.mine != 0) {
        charges_.proven(from);
    }
    const KeySlots of{command.id, command.key, command.call.limit, {}};
    auto slots = zone_.slots();
    if (slots && told) {
        slots->learn(of.id, terms(of.limit), command.call, {held.mine, held.others, held.number});
    } else if (slots) {
        slots->give_up(of.id, terms(of.limit), command.call);
    }
    Queue<Entrance> waiting;
    waiting.take_all(command.waiting);
    serve(waiting, told ? nullptr : reply == nullptr ? no_answer : explain(fault));
    const auto due = slots && told ? slots->due(of.id, terms(of.limit)) : std::nullopt;
    if (due) {
        send(of, *due);
    }
    FreeList<HoldCommand>::common().put_back(command);
}

/// The requests that wait have seen that themselves, or do so now.
void Holds::give_up(HoldCommand& command) noexcept {
    close(command);
    if (auto slots = zone_.slots()) {
        slots->give_up(command.id, terms(command.call.limit), command.call);
    }
    Queue<Entrance> waiting;
    waiting.take_all(command.waiting);
    serve(waiting, no_answer);
}

/// Nobody waits for its answer any more.
void Holds::close(HoldCommand& command) noexcept {
    if (command.awaited) {
        command.awaited = false;
        deadlines_.remove(command);
    }
    const auto found = open_.find(command.id);
    if (found != open_.end() && found->second == &command) {
        open_.erase(found);
    }
}

void Holds::serve(Queue<Entrance>& waiting, const char* failure) noexcept {
    while (!waiting.empty()) {
        Entrance& entrance = waiting.front();
        entrance.leave();
        if (failure == nullptr) {
            try_to_enter(entrance, Asking::at_once);
        } else {
            entrance.fail(failure);
        }
    }
}

void Holds::try_again() noexcept {
    Queue<Entrance> waiting;
    waiting.take_all(elsewhere_);
    for (std::size_t i = 0; i < most_tries && !waiting.empty(); ++i) {
        Entrance& entrance = waiting.front();
        entrance.leave();
        try_to_enter(entrance, Asking::later);
    }
    elsewhere_.take_all_before(elsewhere_.first(), waiting);
    if (!elsewhere_.empty() && !again_.armed()) {
        again_.set(retry_pause);
    }
}

Holds::Look Holds::look(const Noted& seen, bool all) noexcept {
    DebtRecord note;
    auto slots = zone_.slots();
    const Millis now = now_millis();
    if (slots) {
        zone_.debts().change(seen.id, [&](DebtRecord& open) {
            if (open.kind == DebtKind::slots) {
                open.slots.looked_at = now;
                open.slots.deaths = zone_.places().deaths();
                open.reset = now + note_life;
                note = open;
            }
        });
    }
    if (note.kind != DebtKind::slots) {
        return {};
    }
    const KeySlots of{window_id_of(note.id, note), note.key(), note.slots.limit, {}};
    // While Redis is away the slots here are all that there is, and none can go back.
    const bool may_call = nodes_.choose_primary() != nullptr;
    const bool fails = slots->recall(of.id).in_doubt;  // the call before was not answered, or refused
    const IdleSlots idle = all ? IdleSlots::go_back : IdleSlots::stay;
    const auto call = may_call ? slots->due(of.id, terms(of.limit), idle) : std::nullopt;
    if (call) {
        send(of, *call);
    }
    const SlotsRecord record = slots->recall(of.id);
    const bool left = record.running != 0 || record.slots != 0 || record.in_doubt;
    if (!left) {
        zone_.debts().change(note.id, [&](DebtRecord& open) {
            open.reset =
                open.kind == DebtKind::slots && open.slots.times == note.slots.times ? 0 : open.reset;
        });
    }
    return {call.has_value() && !fails, left ? Left::some : Left::nothing};
}

}  // namespace rate_limit
