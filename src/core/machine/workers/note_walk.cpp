#include "core/machine/workers/note_walk.h"

#include "core/limit/clocks.h"
#include "core/machine/windows/tokens.h"

namespace rate_limit {

namespace {

constexpr Millis slots_interval = 900;

/// A note of a bucket's tokens that was made before the clock was set back would last until the clock comes
/// there again.
bool has_ended(const DebtRecord& waiting, Millis now) noexcept {
    return waiting.reset <= now || (waiting.kind == DebtKind::bucket_tokens &&
                                    is_set_back(waiting.reset - waiting.bucket_tokens.life, now));
}

}  // namespace

bool is_due(const DebtRecord& note, Millis now, std::uint32_t deaths) noexcept {
    if (note.kind == DebtKind::bucket_tokens) {
        return false;
    }
    const Millis since = now - note.looked_at();
    if (note.kind == DebtKind::slots) {
        return since >= slots_interval || is_set_back(note.looked_at(), now) || note.slots.deaths != deaths;
    }
    const Millis interval = lease_interval(note.tokens.period);
    return since >= interval || (note.reset - now <= interval && since * 4 >= interval);
}

NoteWalk::Found NoteWalk::find(DebtTable& table, std::size_t set, Aim aim, Millis now,
                               std::uint32_t deaths) noexcept {
    Found found;
    table.visit(set, [&](const WindowId& id, const DebtRecord& waiting) {
        const bool tokens = !waits(waiting.kind);
        const bool ended = has_ended(waiting, now);
        found.tokens = found.tokens || (tokens && !ended);
        if (!ended) {
            found.seen.at(found.seen_count++) = {window_id_of(id, waiting),
                                                 waiting.reset,
                                                 waiting.shard,
                                                 waiting.charges(),
                                                 waiting.kind,
                                                 waiting.kind == DebtKind::slots ? waiting.slots.tag : 0,
                                                 waiting.terms()};
        }
        if (ended || (tokens && (aim == Aim::all || is_due(waiting, now, deaths)))) {
            found.noted.at(found.count++) = {id,           waiting.reset, waiting.looked_at(), waiting.shard,
                                             waiting.kind, ended};
        }
    });
    return found;
}

}  // namespace rate_limit
