#include "core/machine/records/debt_record.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "table_memory.h"

namespace rate_limit::debt_record_test {
namespace {

struct Waiting : TestTableOf<DebtRecord> {
    using TestTableOf::TestTableOf;

    bool add(const WindowId& id, const std::string& key, Millis reset = table_now + 1000) {
        return table.update(id, table_now, [&](DebtRecord& charge) {
            charge.reset = reset;
            charge.set_key(key);
            charge.to_window.cost += 3;
            charge.to_window.charges += 1;
        });
    }
};

TEST(DebtRecord, KeepsKeysOfAnyBytesAndEveryLength) {
    Waiting waiting(1000);
    Ids ids(1);
    for (std::size_t length = 0; length <= DebtRecord::max_key; ++length) {
        std::string key(length, '\0');
        for (std::size_t i = 0; i < length; ++i) {
            key[i] = static_cast<char>(i * 7 + length);
        }
        const WindowId id = ids.next();
        ASSERT_TRUE(waiting.add(id, key));
        ASSERT_EQ(waiting.table.find(id)->key(), key);
    }
}

TEST(DebtRecord, SumsWhatWaitsForOneWindow) {
    Waiting waiting(46);
    const WindowId id{1, 2};
    for (int i = 0; i < 5; ++i) {
        ASSERT_TRUE(waiting.add(id, "k"));
    }
    EXPECT_EQ(waiting.table.find(id)->to_window.cost, 15);
    EXPECT_EQ(waiting.table.find(id)->charges(), 5U);
    EXPECT_TRUE(waiting.table.change(id, [](DebtRecord& charge) { charge.reset = 0; }));
    EXPECT_FALSE(waiting.table.find(id)) << "taken out";
}

TEST(DebtRecord, AnotherKeyKindOrLookAloneIsAChange) {
    Waiting waiting(46);
    const WindowId id{1, 2};
    ASSERT_TRUE(waiting.add(id, "one"));
    EXPECT_TRUE(waiting.table.change(id, [](DebtRecord& charge) { charge.set_key("two"); }));
    EXPECT_EQ(waiting.table.find(id)->key(), "two");
    EXPECT_TRUE(waiting.table.change(id, [](DebtRecord& charge) { charge.kind = DebtKind::fixed_tokens; }));
    EXPECT_EQ(waiting.table.find(id)->kind, DebtKind::fixed_tokens);
    EXPECT_TRUE(waiting.table.change(id, [](DebtRecord& charge) { charge.tokens.looked_at = 5; }));
    EXPECT_EQ(waiting.table.find(id)->looked_at(), 5);
}

TEST(DebtRecord, EachKindOfDebtHasAnIdThatLeadsBack) {
    constexpr std::uint64_t shard = 0x1234567890abcdef;
    const WindowId id = Ids(1).next();
    DebtRecord debt;
    debt.reset = table_now;
    debt.shard = shard;
    for (const DebtKind kind : {DebtKind::charges, DebtKind::refunds}) {
        debt.kind = kind;
        EXPECT_TRUE(window_id_of(waiting_id_of(kind, id, table_now, shard), debt) == id);
    }
    for (const DebtKind kind : {DebtKind::tokens, DebtKind::fixed_tokens, DebtKind::slots}) {
        debt.kind = kind;
        EXPECT_TRUE(window_id_of(note_id_of(id), debt) == id);
    }
}

TEST(DebtRecord, WhatWaitsHasAnIdOfItsKindAndShardAndRefundsOneOfTheirWindow) {
    constexpr std::uint64_t shard = std::uint64_t{5} << 32;
    const WindowId id = Ids(1).next();
    const WindowId charges = waiting_id_of(DebtKind::charges, id, table_now, shard);
    const WindowId refunds = waiting_id_of(DebtKind::refunds, id, table_now, shard);
    EXPECT_TRUE(charges == waiting_id_of(DebtKind::charges, id, table_now + 1, shard))
        << "the next window's, too";
    EXPECT_FALSE(refunds == waiting_id_of(DebtKind::refunds, id, table_now + 1, shard))
        << "each window has its own";
    EXPECT_FALSE(charges == refunds);
    EXPECT_FALSE(charges == note_id_of(id));
    EXPECT_FALSE(refunds == note_id_of(id));
    EXPECT_FALSE(charges == waiting_id_of(DebtKind::charges, id, table_now, shard + (1 << 14)));
    EXPECT_FALSE(refunds == waiting_id_of(DebtKind::refunds, id, table_now, shard + (1 << 14)));
    EXPECT_TRUE(charges == waiting_id_of(DebtKind::charges, id, table_now, shard + 1))
        << "a cluster's hash slots";
}

TEST(DebtRecord, TokensOfABucketHaveANoteForEachTerms) {
    DebtRecord note;
    const WindowId id = Ids(1).next();
    note.kind = DebtKind::bucket_tokens;
    note.bucket_tokens = {1'000'000, 2'000'000'000, 500, 1};
    const WindowId quick = note_id_of(id, note.terms());
    EXPECT_TRUE(window_id_of(quick, note) == id);
    note.bucket_tokens.fill = 4'000'000'000;
    const WindowId large = note_id_of(id, note.terms());
    EXPECT_FALSE(quick == large);
    EXPECT_TRUE(window_id_of(large, note) == id);
    note.kind = DebtKind::tokens;
    EXPECT_EQ(note.terms(), 0U);
}

TEST(DebtRecord, NothingThatWaitsGivesWay) {
    Waiting waiting(46);
    Ids ids(2);
    std::size_t kept = 0;
    for (int i = 0; i < 1000; ++i) {
        // Half of them wait for windows that have ended: they are to be counted before they go.
        kept += waiting.add(ids.next(), "k", table_now + (i % 2 == 0 ? 1000 : -1000)) ? 1 : 0;
    }
    std::size_t held = 0;
    waiting.table.for_each([&](const DebtRecord& /*charge*/) { ++held; });
    EXPECT_EQ(held, kept);
    EXPECT_LE(kept, waiting.table.capacity());
}

TEST(DebtRecord, OnlyANoteOfAClosedWindowGivesWay) {
    DebtRecord charge;
    for (const Millis reset : {table_now - 1, table_now, table_now + 1}) {
        charge.reset = reset;
        for (const DebtKind kind : {DebtKind::charges, DebtKind::refunds}) {
            charge.kind = kind;
            EXPECT_EQ(eviction_rank(charge, table_now).tier, EvictionTier::never);
        }
        for (const DebtKind kind : {DebtKind::tokens, DebtKind::fixed_tokens}) {
            charge.kind = kind;
            EXPECT_EQ(eviction_rank(charge, table_now).tier,
                      reset > table_now ? EvictionTier::never : EvictionTier::ended);
        }
    }
}

TEST(DebtRecord, ANoteOfABucketsTokensStaysUntilAWalkHasGivenThemBack) {
    DebtRecord note;
    note.kind = DebtKind::bucket_tokens;
    note.reset = table_now;
    for (const Millis later : {0, 2000, 86'400'000}) {
        EXPECT_EQ(eviction_rank(note, table_now + later).tier, EvictionTier::never) << later;
    }
}

/// Whichever set such a note would rather go to.
TEST(DebtRecord, NotesThatHaveEndedFillBothSets) {
    Waiting notes(46);
    Ids ids{3};
    for (std::size_t i = 0; i < notes.table.capacity(); ++i) {
        EXPECT_TRUE(notes.table.update(ids.next(), table_now, [](DebtRecord& note) {
            note.kind = DebtKind::bucket_tokens;
            note.reset = table_now - 1;
        })) << i;
    }
    EXPECT_FALSE(notes.table.update(ids.next(), table_now, [](DebtRecord& /*note*/) { ADD_FAILURE(); }));
}

/// Two sets, full of charges but for the notes at these places.
struct FullOfCharges : Waiting {
    FullOfCharges(std::size_t first, std::size_t second) : Waiting(46) {
        for (std::size_t i = 0; i < table.capacity(); ++i) {
            known.push_back(ids.next());
            EXPECT_TRUE(add(known.back(), "k"));
        }
        for (const std::size_t place : {first, second}) {
            change(place, [](DebtRecord& charge) { charge.kind = DebtKind::tokens; });
        }
    }
    template <typename Fn>
    void change(std::size_t place, Fn&& fn) {
        EXPECT_TRUE(table.change(known.at(place), std::forward<Fn>(fn)));
    }
    bool holds(std::size_t place) { return table.find(known.at(place)).has_value(); }

    Ids ids{3};
    std::vector<WindowId> known;
};

TEST(DebtRecord, ChargesTakeTheRoomOfNotesOfClosedWindows) {
    for (std::size_t closed = 0; closed < 46; closed += 5) {
        const std::size_t open = (closed + 23) % 46;
        FullOfCharges full(open, closed);
        full.change(closed, [](DebtRecord& charge) { charge.reset = table_now; });
        EXPECT_TRUE(full.add(full.ids.next(), "k"));
        EXPECT_FALSE(full.holds(closed));
        EXPECT_FALSE(full.add(full.ids.next(), "k")) << "nothing is left that is not needed";
        for (std::size_t i = 0; i < 46; ++i) {
            EXPECT_EQ(full.holds(i), i != closed);
        }
    }
}

}  // namespace
}  // namespace rate_limit::debt_record_test
