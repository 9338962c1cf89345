#include <optional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "core/overrides/override.h"
#include "core/overrides/shared_state.h"
#include "table_memory.h"

namespace rate_limit::shared_override_test {
namespace {

struct Read {
    SharedError error;
    SharedSubject subject;
    Override what;
};

Read read(std::string_view field, std::string_view value) {
    Read read;
    read.error = read_shared(field, value, read.subject, read.what);
    return read;
}

Override override_of(OverrideKind kind, std::uint8_t percent = 0) {
    Override what;
    what.kind = kind;
    what.percent = percent;
    what.from = 1'700'000'000'000;
    what.until = 1'700'000'060'000;
    what.by = "192.0.2.1";
    return what;
}

TEST(SharedOverride, IsReadAsItWasWritten) {
    std::string odd = " \n%-:/#\"\\<";
    odd += '\0';
    odd += '\xff';
    for (const SharedSubject subject :
         {SharedSubject{"core", "user:1"}, SharedSubject{"core", "0123abcd", true},
          SharedSubject{"core", odd}, SharedSubject{"version", "-"}, SharedSubject{"core", {}}}) {
        const Override written =
            subject.key.empty() ? override_of(OverrideKind::enforce, 20) : override_of(OverrideKind::ban);
        const std::string field = write_field(subject);
        const Read found = read(field, write_value(written));
        ASSERT_EQ(found.error, SharedError::none) << field;
        EXPECT_EQ(found.subject.limit, subject.limit);
        EXPECT_EQ(found.subject.key, subject.key);
        EXPECT_EQ(found.subject.digested, subject.digested);
        EXPECT_EQ(found.what.text, subject.key);
        EXPECT_EQ(found.what.digested, subject.digested);
        EXPECT_EQ(found.what.scope, OverrideScope::shared);
        EXPECT_EQ(found.what.kind, written.kind);
        EXPECT_EQ(found.what.percent, written.percent);
        EXPECT_EQ(found.what.from, written.from);
        EXPECT_EQ(found.what.until, written.until);
        EXPECT_EQ(found.what.by, written.by);
    }
    EXPECT_EQ(write_field({"core", "a b"}), "core/:a b");
    EXPECT_EQ(write_field({"core", "ab", true}), "core/#ab");
    EXPECT_EQ(write_field({"core", {}}), "core/");
    EXPECT_EQ(write_value(override_of(OverrideKind::enforce, 7)),
              "1 enforce 7 1700000000000 1700000060000 192.0.2.1");
}

TEST(SharedOverride, HasAReason) {
    for (const std::string& reason :
         {std::string("too many logins"), std::string(" \n\xff<\"%"), std::string(128, 'r')}) {
        Override written = override_of(OverrideKind::ban);
        written.reason = reason;
        const Read found = read("core/:a", write_value(written));
        ASSERT_EQ(found.error, SharedError::none);
        EXPECT_EQ(found.what.by, written.by);
        EXPECT_EQ(found.what.reason, reason);
    }
    EXPECT_EQ(read("core/:a", "1 ban 0 1 2 192.0.2.1").what.reason, "");
}

TEST(SharedOverride, OfAnotherFormIsRefused) {
    ASSERT_EQ(read("core/:a", "1 ban 0 1 2 192.0.2.1").error, SharedError::none);
    ASSERT_EQ(read("core/", "1 off 0 1 2 192.0.2.1").error, SharedError::none);
    EXPECT_EQ(read("core/:a", "2 ban 0 1 2 192.0.2.1").error, SharedError::other_version);
    EXPECT_EQ(read("text", "12 anything").error, SharedError::other_version);
    for (const std::string field : {"", "core", "/", "/:a", "core/:", "core/#", "core/a", "text"}) {
        EXPECT_EQ(read(field, "1 ban 0 1 2 3").error, SharedError::garbage) << field;
    }
    for (const std::string value :
         {"", "\n", "x", "ban 0 1 2 3", "1", "1 ban", "1 ban 0 1", "1 bans 0 1 2 3", "1 ban 101 1 2 3",
          "1 ban 0 x 2 3", "1 ban 0 -1 2 3", "1 ban  0 1 2 3", "1 off 0 1 2 3", " 1 ban 0 1 2 3"}) {
        EXPECT_EQ(read("core/:a", value).error, SharedError::garbage) << value;
    }
    EXPECT_EQ(read("core/", "1 ban 0 1 2 3").error, SharedError::garbage) << "of no key";
}

TEST(SharedState, KnowsWhichVersionIsNews) {
    constexpr Nanos second = 1'000'000'000;
    constexpr Nanos taken = 1000 * second;
    SharedState state;
    EXPECT_TRUE(state.is_news({7, taken, taken}));
    state.take({7, taken - second, taken}, false);
    EXPECT_EQ(state.version(), 7);
    EXPECT_TRUE(state.has_taken_since(taken - 1));
    EXPECT_FALSE(state.has_taken_since(taken));
    EXPECT_FALSE(state.is_news({7, taken, taken}));
    EXPECT_FALSE(state.is_news({7, taken + 5 * second, taken + 5 * second}));
    EXPECT_TRUE(state.is_news({8, taken, taken}));
    EXPECT_TRUE(state.is_news({8, taken - 60 * second, taken}));
    EXPECT_TRUE(state.is_news({6, taken + 5 * second, taken + 5 * second})) << "a failover has lost seven";
    for (const Nanos late : {0, 1, 5, 60, 600}) {
        EXPECT_FALSE(state.is_news({6, taken - 1, taken + late * second})) << "a read of before, " << late;
        EXPECT_FALSE(state.is_news({6, taken - late * second, taken + late * second})) << late;
    }
    state.take({7, taken, taken}, true);
    EXPECT_TRUE(state.is_news({7, taken, taken})) << "some were left out";
    EXPECT_FALSE(state.is_news({6, taken, taken}));
    state.take({7, taken, taken}, false);
    EXPECT_FALSE(state.is_news({7, taken, taken}));
    state.refuse(9);
    EXPECT_TRUE(state.is_refused(9, taken + 3600 * second));
    EXPECT_FALSE(state.is_refused(8, taken));
    state.refuse(9, taken + second);
    EXPECT_TRUE(state.is_refused(9, taken + second - 1));
    EXPECT_FALSE(state.is_refused(9, taken + second));
    EXPECT_TRUE(state.tell(3));
    EXPECT_FALSE(state.tell(3));
    EXPECT_TRUE(state.tell(0));
}

TEST(SharedState, TheNextConfigurationInheritsWhereTheLastGoodOnesAre) {
    SharedState state;
    SharedState next;
    next.inherit(state);
    EXPECT_FALSE(next.has_last_good(5));
    state.take({7}, false);
    state.set_good_in(5);
    EXPECT_TRUE(state.tell(3));
    next.inherit(state);
    EXPECT_TRUE(next.has_last_good(5));
    EXPECT_FALSE(next.has_last_good(6)) << "another zone";
    EXPECT_EQ(next.version(), 0) << "what is there is read again";
    EXPECT_FALSE(next.tell(3)) << "the log has said it";
}

/// Nine looks in a row are not enough.
TEST(SharedState, IsToldAnewAfterTenGoodLooksInARow) {
    SharedState state;
    state.refuse(9);
    EXPECT_TRUE(state.tell(3));
    EXPECT_TRUE(state.forbid());
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 9; ++i) {
            state.look_well();
            state.allow();
        }
        EXPECT_FALSE(state.tell(3));
        EXPECT_FALSE(state.forbid());
        EXPECT_TRUE(state.is_refused(9, 0));
        if (round % 2 == 0) {
            state.look_badly();
        }
    }
    for (int i = 0; i < 10; ++i) {
        state.look_well();
        state.allow();
    }
    EXPECT_FALSE(state.is_refused(9, 0));
    EXPECT_TRUE(state.forbid());
    SharedState next;
    next.inherit(state);
    EXPECT_FALSE(next.forbid()) << "the log has said it";
    EXPECT_TRUE(state.tell(3));
}

TEST(SharedState, IsMissedThreeTimesInARow) {
    constexpr Nanos taken = 1000;
    SharedState state;
    EXPECT_FALSE(state.miss(7, taken));
    EXPECT_FALSE(state.miss(7, taken));
    EXPECT_FALSE(state.miss(8, taken)) << "another version";
    EXPECT_FALSE(state.miss(7, taken));
    EXPECT_FALSE(state.miss(7, taken));
    state.take({7, 0, taken}, false);
    for (int i = 0; i < 3; ++i) {
        EXPECT_FALSE(state.miss(8, taken - 1)) << "by a look that was overtaken";
    }
    EXPECT_FALSE(state.miss(7, taken)) << "it has come meanwhile";
    EXPECT_FALSE(state.miss(7, taken));
    EXPECT_TRUE(state.miss(7, taken));
    EXPECT_TRUE(state.miss(7, taken)) << "once more, after it was read again";
}

TEST(SharedState, OneProcessHasTheTurn) {
    SharedState state;
    EXPECT_TRUE(state.take_turn(10'000, 800));
    EXPECT_FALSE(state.take_turn(10'000, 800));
    EXPECT_FALSE(state.take_turn(10'799, 800));
    EXPECT_FALSE(state.take_turn(9'990, 800)) << "its clock is a little behind";
    EXPECT_TRUE(state.take_turn(10'800, 800));
    EXPECT_TRUE(state.take_turn(400, 800)) << "the clock has gone round";
}

}  // namespace
}  // namespace rate_limit::shared_override_test
