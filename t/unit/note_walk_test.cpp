#include "core/machine/workers/note_walk.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/limit/clocks.h"
#include "core/machine/windows/tokens.h"
#include "table_memory.h"

namespace rate_limit::note_walk_test {
namespace {

constexpr std::int64_t period = 3600;
constexpr std::uint64_t shard = 9;

/// A table with so many notes of tokens, last looked at so long ago.
struct Notes : TestTableOf<DebtRecord> {
    explicit Notes(std::size_t count, Millis ago = 0, std::size_t room = 0)
        : TestTableOf(std::max(count * 10 / 8, room)) {
        for (std::size_t i = 0; i < count; ++i) {
            known.push_back(ids.next());
            EXPECT_TRUE(put(known.back(), DebtKind::tokens, table_now - ago));
        }
    }
    bool put(const WindowId& id, DebtKind kind, Millis looked_at, Millis reset = table_now + period * 1000) {
        return table.update(id, table_now, [&](DebtRecord& waiting) {
            waiting.reset = reset;
            waiting.kind = kind;
            if (!waits(kind)) {
                waiting.tokens = {0, looked_at, period};
            }
            waiting.shard = shard;
            waiting.set_key("k");
        });
    }
    SharedWalk::Slice all() const { return {0, table.sets()}; }

    Ids ids{5};
    std::vector<WindowId> known;
};

/// Walks over all notes in turns, none of which does more than it may; how many turns they were.
std::size_t walk_over(Notes& notes, NoteWalk::Aim aim, const std::function<Looked(const Noted&)>& look) {
    NoteWalk walk;
    walk.begin(notes.all());
    std::size_t count = 0;
    for (; !walk.idle(); ++count) {
        std::size_t looks = 0;
        std::size_t refunds = 0;
        const NoteWalk::Turn turn = walk.turn(
            notes.table, aim, table_now, 0, [](const Seen&) {},
            [&](const Noted& seen) {
                const Looked looked = look(seen);
                looks += looked != Looked::not_at_all ? 1 : 0;
                refunds += looked == Looked::given_back ? 1 : 0;
                return looked;
            });
        EXPECT_EQ(turn.looks, looks);
        EXPECT_EQ(turn.refunds, refunds);
        EXPECT_GE(turn.sets, 1U) << "it would never end";
        EXPECT_LE(turn.sets, NoteWalk::sets_a_turn);
        EXPECT_LE(looks, NoteWalk::looks_a_turn);
        EXPECT_LE(refunds, 50U);
        EXPECT_LE(turn.passed, NoteWalk::passed_a_turn);
    }
    return count;
}

/// How many turns a walk takes at most that does nothing about what it finds.
std::size_t most_idle_turns(const Notes& notes) {
    return notes.table.sets() / NoteWalk::sets_a_turn +
           20'000 / (NoteWalk::passed_a_turn - DebtTable::Set::capacity) + 1;
}

TEST(NoteWalk, FindsEveryNoteOnceInTurnsThatAreBounded) {
    for (const Looked looked : {Looked::kept, Looked::given_back, Looked::not_at_all}) {
        Notes notes(20'000, lease_interval(period));
        std::map<std::uint64_t, int> found;
        const std::size_t count = walk_over(notes, NoteWalk::Aim::due, [&](const Noted& seen) {
            EXPECT_EQ(seen.shard, shard);
            EXPECT_EQ(seen.kind, DebtKind::tokens);
            EXPECT_EQ(seen.looked_at, table_now - lease_interval(period));
            ++found[seen.id.low];
            return looked;
        });
        EXPECT_EQ(found.size(), notes.known.size());
        EXPECT_TRUE(
            std::all_of(found.begin(), found.end(), [](const auto& note) { return note.second == 1; }));
        if (looked == Looked::given_back) {
            EXPECT_GE(count, 20'000 / NoteWalk::refunds_a_turn);
        } else if (looked == Looked::kept) {
            EXPECT_GE(count, 20'000 / NoteWalk::looks_a_turn);
        } else {
            EXPECT_LE(count, most_idle_turns(notes));
        }
    }
}

TEST(NoteWalk, AFullTableOfWhatIsNotDueTakesNoLook) {
    Notes notes(20'000);
    const std::size_t count = walk_over(notes, NoteWalk::Aim::due, [](const Noted& /*seen*/) {
        ADD_FAILURE();
        return Looked::kept;
    });
    EXPECT_LE(count, most_idle_turns(notes));
}

TEST(NoteWalk, SaysWhetherThereAreTokensAlsoNotDue) {
    const auto finds_tokens = [](Notes& notes) {
        NoteWalk walk;
        walk.begin(notes.all());
        const auto nothing = [](const Noted& /*seen*/) { return Looked::kept; };
        return walk
            .turn(
                notes.table, NoteWalk::Aim::due, table_now, 0, [](const Seen&) {}, nothing)
            .tokens;
    };
    Notes none(0, 0, 100);
    Notes one(1, 0, 100);
    EXPECT_FALSE(finds_tokens(none));
    EXPECT_TRUE(finds_tokens(one));
    EXPECT_TRUE(none.put({1, 2}, DebtKind::charges, 0));
    EXPECT_TRUE(none.put({3, 4}, DebtKind::tokens, 0, table_now));
    EXPECT_FALSE(finds_tokens(none)) << "neither charges nor tokens of a window that has ended";
}

TEST(NoteWalk, FindsAllNotesWhereAllAreToGoBack) {
    Notes notes(1000);
    EXPECT_TRUE(notes.put({1, 2}, DebtKind::charges, 0));
    EXPECT_TRUE(notes.put({3, 4}, DebtKind::fixed_tokens, table_now));
    std::size_t found = 0;
    walk_over(notes, NoteWalk::Aim::all, [&](const Noted& seen) {
        EXPECT_NE(seen.kind, DebtKind::charges);
        ++found;
        return Looked::given_back;
    });
    EXPECT_EQ(found, 1001U);
}

TEST(NoteWalk, FindsWhatHasOutlivedItsWindow) {
    Notes notes(0, 0, 100);
    EXPECT_TRUE(notes.put({1, 2}, DebtKind::charges, 0, table_now));
    EXPECT_TRUE(notes.put({3, 4}, DebtKind::tokens, table_now, table_now));
    EXPECT_TRUE(notes.put({5, 6}, DebtKind::charges, 0, table_now + 1));
    std::vector<std::uint64_t> found;
    walk_over(notes, NoteWalk::Aim::due, [&](const Noted& seen) {
        found.push_back(seen.id.high);
        return Looked::kept;
    });
    std::sort(found.begin(), found.end());
    EXPECT_EQ(found, (std::vector<std::uint64_t>{1, 3}));
}

TEST(NoteWalk, TokensOfABucketHaveEndedWhereTheClockWasSetBack) {
    Notes notes(0, 0, 100);
    const WindowId id{1, 2};
    const auto found_at = [&](Millis now) {
        NoteWalk walk;
        walk.begin(notes.all());
        int found = 0;
        (void)walk.turn(
            notes.table, NoteWalk::Aim::due, now, 0, [](const Seen&) {},
            [&](const Noted& seen) {
                EXPECT_TRUE(seen.ended);
                ++found;
                return Looked::kept;
            });
        return found;
    };
    EXPECT_TRUE(notes.put(id, DebtKind::tokens, 0, table_now + 500));
    EXPECT_TRUE(notes.table.change(id, [](DebtRecord& note) {
        note.kind = DebtKind::bucket_tokens;
        note.bucket_tokens = {1'000'000, 2'000'000'000, 500, period};
    }));
    EXPECT_EQ(found_at(table_now), 0);
    EXPECT_EQ(found_at(table_now - 1000), 0);
    EXPECT_EQ(found_at(table_now - 1001), 1);
    EXPECT_EQ(found_at(table_now + 500), 1);
}

TEST(NoteWalk, WhatIsFoundMayBeTakenOut) {
    Notes notes(5000, lease_interval(period));
    walk_over(notes, NoteWalk::Aim::due, [&](const Noted& seen) {
        EXPECT_TRUE(notes.table.change(seen.id, [](DebtRecord& note) { note.reset = 0; }));
        return Looked::given_back;
    });
    std::size_t left = 0;
    notes.table.for_each([&](const DebtRecord& /*note*/) { ++left; });
    EXPECT_EQ(left, 0U);
}

TEST(IsDue, OnceInAnIntervalAndMoreOftenTowardsTheEnd) {
    DebtRecord note;
    note.kind = DebtKind::tokens;
    note.tokens.period = 20;  // an interval of a second
    note.reset = table_now + 1001;
    const auto due = [&](Millis ago) {
        note.tokens.looked_at = table_now - ago;
        return is_due(note, table_now, 0);
    };
    EXPECT_FALSE(due(999));
    EXPECT_TRUE(due(1000));
    note.reset = table_now + 1000;
    EXPECT_FALSE(due(249));
    EXPECT_TRUE(due(250));
}

TEST(NoteWalk, LooksAtSlotsOnceInAWhileAndAfterADeath) {
    DebtRecord note;
    note.kind = DebtKind::slots;
    note.slots.looked_at = table_now;
    note.slots.deaths = 7;
    EXPECT_FALSE(is_due(note, table_now + 899, 7));
    EXPECT_TRUE(is_due(note, table_now + 900, 7));
    EXPECT_TRUE(is_due(note, table_now + 1, 8)) << "a worker has died";
    EXPECT_FALSE(is_due(note, table_now - clocks_apart, 7)) << "this worker's clock is behind";
    EXPECT_TRUE(is_due(note, table_now - clocks_apart - 1, 7)) << "the clock was set back";
}

}  // namespace
}  // namespace rate_limit::note_walk_test
