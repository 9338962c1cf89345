#include "core/slots/shared_slots.h"

#include <utility>

namespace rate_limit {

namespace {

/// How often a worker looks again for another one to finish a change, and how often it adds up anew.
constexpr int most_looks = 1000;
constexpr int most_attempts = 8;

/// The name by which a place says that this key is being changed.
std::uint64_t name_of(const WindowId& id) noexcept {
    return id.low | 1;
}

void enter_share(ShareRecord& share, std::uint64_t owner, std::size_t place) noexcept {
    if (share.owner != owner) {
        share.running = 0;  // those of a worker that had the place before
    }
    share.owner = owner;
    share.place = static_cast<std::uint32_t>(place);
    share.reset = pinned;
    ++share.running;
}

void leave_share(ShareRecord& share, std::uint64_t owner, Millis now) noexcept {
    if (share.owner == owner && share.running != 0) {
        --share.running;
    }
    if (share.running == 0) {
        share.reset = now + idle_time;  // another request may come
    }
}

}  // namespace

bool SharedSlots::is_outdated(const SlotsRecord& record) const noexcept {
    return record.running != 0 && record.deaths != places_.deaths();
}

/// Corrects the sum first, where a worker has died.
void SharedSlots::refresh(const WindowId& id, const SlotsTerms& terms) noexcept {
    const std::optional<SlotsRecord> record = table_.find<SlotsRecord>(id);
    if (record && is_outdated(*record)) {
        add_up(id, terms);
    }
}

bool SharedSlots::count(const WindowId& id, Step step, const SlotsTerms& terms) noexcept {
    const WindowId share = share_id_of(id, place_);
    const auto out = [this, &terms](ShareRecord& record) { leave_share(record, self_, terms.now); };
    if (step == Step::out) {
        return table_.change(share, out);
    }
    return table_.update(share, terms.now,
                         [this](ShareRecord& record) { enter_share(record, self_, place_); });
}

/// Changes the key's record by fn, which says whether a request begins, and then counts that; false if there
/// is no room.
template <typename Fn>
bool SharedSlots::begin(const WindowId& id, const SlotsTerms& terms, Fn fn) noexcept {
    bool outdated = false;
    bool begun = false;
    const auto change = [&](SlotsRecord& record) {
        outdated = !outdated && is_outdated(record);
        if (!outdated) {
            record.deaths = record.running != 0 ? record.deaths : places_.deaths();
            begun = fn(record);
        }
    };
    table_.prefetch(share_id_of(id, place_));
    places_.set_changing(place_, name_of(id));
    bool room = table_.update(id, terms.now, change);
    if (room && outdated) {
        places_.set_changing(place_, 0);
        add_up(id, terms);
        places_.set_changing(place_, name_of(id));
        room = table_.update(id, terms.now, change);
    }
    if (begun && !count(id, Step::in, terms)) {
        table_.change(id, [&](SlotsRecord& record) { rate_limit::leave(record, terms); });
        room = false;
    }
    places_.set_changing(place_, 0);
    return room;
}

SlotsEntry SharedSlots::enter(const WindowId& id, const SlotsTerms& terms, Asking asking) noexcept {
    SlotsEntry entry;
    const bool room = begin(id, terms, [&](SlotsRecord& record) {
        entry = rate_limit::enter(record, terms, asking);
        return entry.outcome == SlotsOutcome::admitted;
    });
    return room ? entry : SlotsEntry{SlotsOutcome::no_room, 0, {}};
}

bool SharedSlots::enter_anyway(const WindowId& id, const SlotsTerms& terms) noexcept {
    bool entered = false;
    const bool room = begin(id, terms, [&](SlotsRecord& record) {
        entered = rate_limit::enter_anyway(record, terms);
        return entered;
    });
    return room && entered;
}

std::optional<SlotsCall> SharedSlots::leave(const WindowId& id, const SlotsTerms& terms,
                                            IdleSlots idle) noexcept {
    std::optional<SlotsCall> call;
    bool outdated = false;
    const auto change = [&](SlotsRecord& record) {
        outdated = !outdated && is_outdated(record);
        if (!outdated) {
            rate_limit::leave(record, terms);
            call = rate_limit::due(record, terms, idle);
        }
    };
    places_.set_changing(place_, name_of(id));
    table_.change(id, change);
    if (outdated) {
        places_.set_changing(place_, 0);
        add_up(id, terms);
        places_.set_changing(place_, name_of(id));
        table_.change(id, change);
    }
    count(id, Step::out, terms);
    places_.set_changing(place_, 0);
    return call;
}

std::optional<SlotsCall> SharedSlots::due(const WindowId& id, const SlotsTerms& terms,
                                          IdleSlots idle) noexcept {
    refresh(id, terms);
    std::optional<SlotsCall> call;
    table_.change(id, [&](SlotsRecord& record) { call = rate_limit::due(record, terms, idle); });
    return call;
}

void SharedSlots::learn(const WindowId& id, const SlotsTerms& terms, const SlotsCall& call,
                        const SlotsAnswer& answer) noexcept {
    table_.change(id, [&](SlotsRecord& record) { rate_limit::learn(record, terms, call, answer); });
}

void SharedSlots::give_up(const WindowId& id, const SlotsTerms& terms, const SlotsCall& call) noexcept {
    table_.change(id, [&](SlotsRecord& record) { rate_limit::give_up(record, terms, call); });
}

SlotsRecord SharedSlots::recall(const WindowId& id) noexcept {
    return table_.find<SlotsRecord>(id).value_or(SlotsRecord{});
}

bool SharedSlots::add_up(const WindowId& id, const SlotsTerms& terms) noexcept {
    for (int attempt = 0; attempt < most_attempts; ++attempt) {
        const std::uint32_t deaths = places_.deaths();
        const std::optional<SlotsRecord> before = table_.find<SlotsRecord>(id);
        if (!before || before->running == 0 || before->deaths == deaths) {
            return true;
        }
        const std::optional<std::int64_t> live = count_living(id);
        if (!live) {
            return false;
        }
        bool done = false;
        table_.change(id, [&](SlotsRecord& record) {
            done = record.changes == before->changes && record.deaths == before->deaths;
            if (done) {
                correct(record, terms, *live, deaths);
            }
        });
        if (done) {
            return true;
        }
    }
    return false;
}

/// The requests of a key in all workers that live; empty if one does not finish its change of them. Removes
/// what the dead have counted.
std::optional<std::int64_t> SharedSlots::count_living(const WindowId& id) noexcept {
    std::int64_t sum = 0;
    for (std::size_t place = 0; place < places_.end(); ++place) {
        for (int look = 0; places_.is_changing(place, name_of(id)); ++look) {
            if (look == most_looks) {
                return std::nullopt;
            }
        }
        table_.change(share_id_of(id, place), [&](ShareRecord& share) {
            // The owner is read while the share is held: a new one takes the place before it counts.
            if (share.owner == places_.owner_of(place)) {
                sum += share.running;
            } else {
                share.reset = 0;
            }
        });
    }
    return sum;
}

bool SharedSlots::sweep(std::size_t set, const SlotsTerms& terms) noexcept {
    bool all = true;
    for (const Record& record : table_.records_of(set)) {
        if (record.reset >= pinned && record.kind == RecordKind::slots) {
            all = add_up(record.id, terms) && all;
        } else if (record.reset >= pinned) {
            table_.change(record.id, [&](ShareRecord& share) {
                if (share.owner != places_.owner_of(share.place)) {
                    share.reset = 0;
                }
            });
        }
    }
    return all;
}

}  // namespace rate_limit
