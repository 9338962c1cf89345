#include "core/overrides/override_table.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/overrides/known_overrides.h"
#include "redis/keys/shard_choice.h"
#include "table_memory.h"

namespace rate_limit::override_table_test {
namespace {

constexpr Millis minute = 60'000;
constexpr std::uint64_t limit_digest = 77;
constexpr std::uint64_t store_digest = 5;

Override ban(std::uint64_t key, Millis until = table_now + minute) {
    Override what;
    what.subject = {limit_digest, key};
    what.store = store_digest;
    what.kind = OverrideKind::ban;
    what.from = table_now;
    what.until = until;
    what.by = "192.0.2.1";
    what.text = "key " + std::to_string(key);
    return what;
}

Override share(std::uint8_t percent) {
    Override what = ban(0);
    what.kind = OverrideKind::enforce;
    what.percent = percent;
    what.text = "";
    return what;
}

Override shared(Override what) {
    what.scope = OverrideScope::shared;
    return what;
}

struct Table {
    explicit Table(std::size_t overrides) : memory(OverrideTable::bytes_for(overrides)) {
        EXPECT_TRUE(table.use(memory.at(), memory.size(), this_process()));
        table.keep_texts(true);
        EXPECT_EQ(table.capacity(), std::min(overrides, OverrideTable::most));
    }

    std::vector<std::uint64_t> keys(Millis now = table_now) const {
        std::vector<std::uint64_t> found;
        for (const Override& what : table.read(now)) {
            found.push_back(what.subject.key);
        }
        std::sort(found.begin(), found.end());
        return found;
    }

    /// The next version of what the machines of a store share.
    std::optional<std::size_t> put_shared(std::uint64_t store, const std::vector<Override>& all) {
        return table.put_shared(store, all, state, {state.version() + 1}, table_now);
    }

    TableMemory memory;
    OverrideTable table;
    SharedState state;
};

using Keys = std::vector<std::uint64_t>;

TEST(OverrideTable, KeepsWhatItIsGiven) {
    Table of(10);
    ASSERT_TRUE(of.table.put(share(20), table_now));
    ASSERT_TRUE(of.table.put(ban(9), table_now));
    const std::vector<Override> all = of.table.read(table_now);
    ASSERT_EQ(all.size(), 2U);
    const Override& of_key = all[0].subject.key == 9 ? all[0] : all[1];
    const Override& of_limit = all[0].subject.key == 9 ? all[1] : all[0];
    EXPECT_EQ(of_key.kind, OverrideKind::ban);
    EXPECT_EQ(of_key.by, "192.0.2.1");
    EXPECT_EQ(of_key.text, "key 9");
    EXPECT_EQ(of_key.store, store_digest);
    EXPECT_EQ(of_key.from, table_now);
    EXPECT_EQ(of_key.until, table_now + minute);
    EXPECT_FALSE(of_key.text.is_cut());
    EXPECT_EQ(of_limit.kind, OverrideKind::enforce);
    EXPECT_EQ(of_limit.percent, 20);
    EXPECT_EQ(of_limit.scope, OverrideScope::machine);
}

TEST(OverrideTable, CutsLongTexts) {
    Table of(2);
    Override what = ban(1);
    what.text = std::string(129, 'x');
    what.by = std::string(100, 'y');
    what.reason = std::string(128, 'z');
    ASSERT_TRUE(of.table.put(what, table_now));
    const Override kept = of.table.read(table_now).at(0);
    EXPECT_EQ(kept.text, std::string(128, 'x'));
    EXPECT_TRUE(kept.text.is_cut());
    EXPECT_EQ(kept.by, std::string(46, 'y'));
    EXPECT_EQ(kept.reason, std::string(128, 'z'));
}

TEST(OverrideTable, KeepsTextsOnlyWhereTheyAreShown) {
    Table of(4);
    Override what = ban(1);
    what.text = std::string(129, 'x');
    ASSERT_TRUE(of.table.put(what, table_now));
    of.table.keep_texts(false);
    EXPECT_EQ(of.table.read(table_now).at(0).text, "") << "what was kept";
    EXPECT_FALSE(of.table.read(table_now).at(0).text.is_cut());

    what.subject.key = 2;
    ASSERT_TRUE(of.table.put(what, table_now));
    EXPECT_EQ(of.put_shared(store_digest, {shared(ban(3))}), 0U);
    EXPECT_EQ(of.keys(), (Keys{1, 2, 3}));
    for (const Override& each : of.table.read(table_now)) {
        EXPECT_EQ(each.text, "") << "what a worker writes that still has the configuration of before";
        EXPECT_FALSE(each.text.is_cut());
    }
    const std::vector<Override> again = of.table.read_shared(store_digest, table_now);
    ASSERT_EQ(again.size(), 1U);
    EXPECT_EQ(again[0].text, "key 3") << "for Redis alone";
    EXPECT_TRUE(of.table.read_shared(store_digest + 1, table_now).empty());
    const std::uint64_t generation = of.table.generation();
    EXPECT_EQ(of.put_shared(store_digest, {shared(ban(3))}), 0U);
    EXPECT_EQ(of.table.generation(), generation) << "the same anew is no change";

    of.table.keep_texts(true);
    EXPECT_EQ(of.table.generation(), generation) << "neither is that";
    ASSERT_TRUE(of.table.put(ban(4), table_now));
    EXPECT_EQ(of.table.read(table_now).back().text, "key 4");
}

TEST(OverrideTable, TheLaterReplaces) {
    Table of(2);
    ASSERT_TRUE(of.table.put(ban(1), table_now));
    ASSERT_TRUE(of.table.put(ban(2), table_now));
    Override later = ban(1, table_now + 2 * minute);
    later.kind = OverrideKind::allow;
    ASSERT_TRUE(of.table.put(later, table_now)) << "also in a full table";
    EXPECT_EQ(of.keys(), (Keys{1, 2}));
    EXPECT_TRUE(of.table.remove({limit_digest, 2}, table_now));
    EXPECT_FALSE(of.table.remove({limit_digest, 2}, table_now));
    EXPECT_EQ(of.table.read(table_now).at(0).kind, OverrideKind::allow);
}

TEST(OverrideTable, IsFullAtAThousand) {
    Table of(2000);
    for (std::uint64_t key = 1; key <= 1000; ++key) {
        ASSERT_TRUE(of.table.put(ban(key, table_now + static_cast<Millis>(key) * minute), table_now)) << key;
    }
    const std::uint64_t generation = of.table.generation();
    EXPECT_FALSE(of.table.put(ban(1001), table_now));
    EXPECT_EQ(of.table.generation(), generation) << "nothing changes";
    EXPECT_EQ(of.keys().size(), 1000U);
    EXPECT_TRUE(of.table.put(ban(500), table_now)) << "one that is there";
    EXPECT_TRUE(of.table.put(ban(1001, table_now + 2 * minute), table_now + minute)) << "one has ended";
    EXPECT_EQ(of.keys(table_now + minute).size(), 1000U - 2 + 1);
}

TEST(OverrideTable, EachEndsAtItsTime) {
    Table of(2);
    ASSERT_TRUE(of.table.put(ban(1), table_now));
    EXPECT_EQ(of.keys(table_now + minute - 1).size(), 1U);
    EXPECT_EQ(of.keys(table_now + minute).size(), 0U);
}

TEST(OverrideTable, FitsItsMemory) {
    Table of(2);
    EXPECT_FALSE(of.table.use(of.memory.at(), OverrideTable::bytes_for(1) - 1, this_process()))
        << "too small";
}

TEST(OverrideTable, WhatIsSharedIsTakenAsAWhole) {
    Table of(4);
    ASSERT_TRUE(of.table.put(ban(1), table_now));
    EXPECT_EQ(of.put_shared(store_digest, {shared(ban(2)), shared(ban(3))}), 0U);
    EXPECT_EQ(of.keys(), (Keys{1, 2, 3}));
    const std::uint64_t generation = of.table.generation();
    EXPECT_EQ(of.put_shared(store_digest, {shared(ban(2)), shared(ban(3))}), 0U);
    EXPECT_EQ(of.table.generation(), generation) << "nothing has changed";
    EXPECT_EQ(of.put_shared(store_digest + 1, {}), 0U);
    EXPECT_EQ(of.keys(), (Keys{1, 2, 3})) << "another store's";
    EXPECT_EQ(of.put_shared(store_digest, {shared(ban(3, table_now + 1)), shared(ban(1))}), 0U);
    EXPECT_EQ(of.keys(), (Keys{1, 3})) << "one of this machine gives way to a shared one";
    EXPECT_EQ(of.keys(table_now + 1), (Keys{1}));
    EXPECT_EQ(of.put_shared(store_digest, {shared(ban(1)), shared(ban(2)), shared(ban(3)), shared(ban(4)),
                                           shared(ban(5)), shared(ban(6))}),
              2U);
    EXPECT_EQ(of.keys().size(), 4U);
    EXPECT_EQ(of.put_shared(store_digest, {}), 0U);
    EXPECT_EQ(of.keys(), (Keys{}));
}

TEST(OverrideTable, WhatIsNoNewsChangesNothing) {
    Table of(4);
    EXPECT_EQ(of.put_shared(store_digest, {shared(ban(1))}), 0U);
    EXPECT_EQ(of.state.version(), 1);
    EXPECT_EQ(of.table.put_shared(store_digest, {shared(ban(2))}, of.state, {1}, table_now), std::nullopt);
    EXPECT_EQ(of.keys(), (Keys{1}));
    EXPECT_EQ(of.table.put_shared(store_digest, {shared(ban(2))}, of.state, {2}, table_now), 0U);
    EXPECT_EQ(of.keys(), (Keys{2}));
}

TEST(OverrideTable, TakesUpTheSameAgainWhereSomeFoundNoRoom) {
    Table of(2);
    ASSERT_TRUE(of.table.put(ban(9), table_now));
    const std::vector<Override> two = {shared(ban(1)), shared(ban(2))};
    EXPECT_FALSE(of.state.is_incomplete());
    EXPECT_EQ(of.table.put_shared(store_digest, two, of.state, {7}, table_now), 1U);
    EXPECT_TRUE(of.state.is_incomplete());
    EXPECT_FALSE(of.table.has_free_place(table_now));
    EXPECT_TRUE(of.table.has_free_place(table_now + minute)) << "all have ended";
    ASSERT_TRUE(of.table.remove({limit_digest, 9}, table_now));
    EXPECT_TRUE(of.table.has_free_place(table_now));
    EXPECT_EQ(of.table.put_shared(store_digest, two, of.state, {7}, table_now), 0U);
    EXPECT_EQ(of.keys(), (Keys{1, 2}));
    EXPECT_FALSE(of.state.is_incomplete());
    EXPECT_EQ(of.table.put_shared(store_digest, two, of.state, {7}, table_now), std::nullopt);
}

TEST(OverrideTable, KeepsWhatWasSetLaterOnThisMachineAlone) {
    Table of(4);
    const auto since = [](Override what, Millis from) {
        what.from = from;
        return what;
    };
    ASSERT_TRUE(of.table.put(since(ban(1), table_now - 5), table_now));
    ASSERT_TRUE(of.table.put(since(ban(2), table_now - 9), table_now));
    const std::vector<Override> both = {shared(since(ban(1), table_now - 7)),
                                        shared(since(ban(2), table_now - 7))};
    EXPECT_EQ(of.put_shared(store_digest, both), 0U);
    std::vector<std::uint64_t> alone;
    for (const Override& what : of.table.read(table_now)) {
        if (what.scope == OverrideScope::machine) {
            alone.push_back(what.subject.key);
        }
    }
    EXPECT_EQ(alone, std::vector<std::uint64_t>{1});
    EXPECT_EQ(of.put_shared(store_digest, {}), 0U);
    EXPECT_EQ(of.keys(), (Keys{1})) << "it stays where the shared ones end";
}

TEST(OverrideTable, ShowsNoDigest) {
    Table of(4);
    Override what = shared(ban(1));
    what.digested = true;
    EXPECT_EQ(of.put_shared(store_digest, {what}), 0U);
    EXPECT_EQ(of.table.read(table_now).at(0).text, "");
    EXPECT_EQ(of.table.read_shared(store_digest, table_now).at(0).text, "key 1");
}

TEST(OverrideTable, HasRoomForWhatIsThere) {
    Table of(1);
    EXPECT_TRUE(of.table.has_room({limit_digest, 1}, table_now));
    ASSERT_TRUE(of.table.put(ban(1), table_now));
    EXPECT_TRUE(of.table.has_room({limit_digest, 1}, table_now));
    EXPECT_FALSE(of.table.has_room({limit_digest, 2}, table_now));
    EXPECT_TRUE(of.table.has_room({limit_digest, 2}, table_now + minute));
}

TEST(KnownOverrides, FollowsTheTable) {
    Table of(10);
    KnownOverrides known(of.table);
    EXPECT_FALSE(known.none()) << "it has not looked";
    known.renew(table_now);
    EXPECT_TRUE(known.none());
    ASSERT_TRUE(of.table.put(ban(1), table_now));
    EXPECT_FALSE(known.none());
    known.renew(table_now);
    EXPECT_TRUE(known.has_keys());
    EXPECT_FALSE(known.has_limits());
    EXPECT_EQ(known.of({limit_digest, 1}, table_now).kind, OverrideKind::ban);
    EXPECT_EQ(known.of({limit_digest, 2}, table_now).kind, OverrideKind::none);
    EXPECT_EQ(known.of({limit_digest, 1}, table_now + minute).kind, OverrideKind::none);
    ASSERT_TRUE(of.table.put(share(20), table_now));
    ASSERT_TRUE(of.table.remove({limit_digest, 1}, table_now));
    known.renew(table_now);
    EXPECT_FALSE(known.has_keys());
    EXPECT_TRUE(known.has_limits());
    EXPECT_EQ(known.of({limit_digest, 0}, table_now).percent, 20);
    known.tidy(table_now + minute - 1);
    EXPECT_FALSE(known.none());
    known.tidy(table_now + minute);
    EXPECT_TRUE(known.none()) << "all have ended";
}

TEST(EnforcedShare, IsOfTheSizeAndGrows) {
    for (const unsigned percent : {0U, 1U, 20U, 50U, 99U, 100U}) {
        std::size_t in = 0;
        for (unsigned i = 0; i < 10'000; ++i) {
            const std::string key = "user-" + std::to_string(i);
            in += is_enforced(key, percent) ? 1 : 0;
            EXPECT_TRUE(!is_enforced(key, percent) || is_enforced(key, percent + 1)) << key;
        }
        EXPECT_NEAR(static_cast<double>(in), percent * 100, percent % 100 == 0 ? 0 : 200) << percent;
    }
    // this value holds on all machines, and stands in docs/reference.md
    EXPECT_EQ(xxh64("alice", 0) % 100, 89U);
}

}  // namespace
}  // namespace rate_limit::override_table_test
