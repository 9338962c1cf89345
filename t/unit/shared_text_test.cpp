#include "core/overrides/shared_text.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/overrides/override_table.h"
#include "core/overrides/shared_state.h"
#include "table_memory.h"

namespace rate_limit::shared_text_test {
namespace {

SharedOverride of_key(const std::string& key, bool digested = false) {
    SharedOverride what;
    what.kind = OverrideKind::ban;
    what.from = 1'700'000'000'000;
    what.until = 1'700'000'060'000;
    what.by = "192.0.2.1";
    what.limit = "core";
    what.key = key;
    what.digested = digested;
    return what;
}

SharedOverride of_limit(unsigned percent) {
    SharedOverride what = of_key("");
    what.kind = OverrideKind::enforce;
    what.percent = static_cast<std::uint8_t>(percent);
    return what;
}

TEST(SharedText, IsReadAsItWasWritten) {
    std::string odd = " \n%-:#\"\\<";
    odd += '\0';
    odd += '\xff';
    const std::vector<SharedOverride> all = {of_key("user:1"), of_key("0123abcd", true), of_limit(20),
                                             of_key(odd), of_key("-")};
    std::vector<SharedOverride> read;
    ASSERT_EQ(read_shared_text(write_shared_text(all), read), SharedTextError::none);
    ASSERT_EQ(read.size(), all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        EXPECT_TRUE(read[i].same_subject(all[i])) << i;
        EXPECT_EQ(read[i].kind, all[i].kind);
        EXPECT_EQ(read[i].percent, all[i].percent);
        EXPECT_EQ(read[i].from, all[i].from);
        EXPECT_EQ(read[i].until, all[i].until);
        EXPECT_EQ(read[i].by, all[i].by);
    }
    EXPECT_EQ(write_shared_text({of_key("a b"), of_limit(7)}),
              "overrides 1\n"
              "ban 0 1700000000000 1700000060000 192.0.2.1 core :a%20b\n"
              "enforce 7 1700000000000 1700000060000 192.0.2.1 core -\n");
    ASSERT_EQ(read_shared_text("overrides 1\n", read), SharedTextError::none);
    EXPECT_TRUE(read.empty());
}

TEST(SharedText, AThousandOfTheLongestFit) {
    const std::vector<SharedOverride> all(OverrideTable::most, of_key(std::string(128, '\xff')));
    EXPECT_LE(write_shared_text(all).size(), most_shared_text);
}

TEST(SharedText, GarbageIsRefused) {
    const std::string line = "ban 0 1 2 192.0.2.1 core :a\n";
    std::vector<SharedOverride> read;
    ASSERT_EQ(read_shared_text("overrides 1\n" + line, read), SharedTextError::none);
    EXPECT_EQ(read_shared_text("overrides 2\n" + line, read), SharedTextError::other_version);
    EXPECT_EQ(read_shared_text(std::string(most_shared_text + 1, 'x'), read), SharedTextError::too_large);
    for (const std::string bad :
         {"", "\n", "x", "ban 0 1 2 3 core :a\n", "overrides 1\nx\n", "overrides 1\n\n",
          "overrides 1\nban 0 1 2 3 core\n", "overrides 1\nban 0 1 2 3 core :\n",
          "overrides 1\nban 0 1 2 3 core a\n", "overrides 1\nban 0 1 2 3 core -\n",
          "overrides 1\noff 0 1 2 3 core :a\n", "overrides 1\nban 101 1 2 3 core :a\n",
          "overrides 1\nban 0 x 2 3 core :a\n", "overrides 1\nban 0 -1 2 3 core :a\n",
          "overrides 1\nban 0 1 2 3  :a\n", "overrides 1\nban 0 1 2 3 core :%2\n",
          "overrides 1\nban 0 1 2 3 core :%zz\n", "overrides 1\nban 0 1 2 3 core :a b\n",
          "overrides 1\nbans 0 1 2 3 core :a\n"}) {
        EXPECT_EQ(read_shared_text(bad, read), SharedTextError::garbage) << bad;
        EXPECT_TRUE(read.empty());
    }
    std::string many = "overrides 1\n";
    for (std::size_t i = 0; i <= OverrideTable::most; ++i) {
        many += line;
    }
    EXPECT_EQ(read_shared_text(many, read), SharedTextError::garbage) << "too many";
}

TEST(SharedState, KeepsTheLastGoodText) {
    TableMemory memory(sizeof(SharedState));
    auto& state = *static_cast<SharedState*>(memory.at());
    const LockUser user = this_process();
    EXPECT_EQ(state.last_good(user), "");
    EXPECT_TRUE(state.is_news(7, table_now));
    state.take(7, "seven", table_now, user);
    EXPECT_EQ(state.last_good(user), "seven");
    EXPECT_EQ(state.version(), 7);
    EXPECT_FALSE(state.is_news(7, table_now));
    EXPECT_TRUE(state.is_news(8, table_now));
    EXPECT_FALSE(state.is_news(6, table_now)) << "a read of before";
    EXPECT_TRUE(state.is_news(6, table_now + 5000)) << "a failover has lost seven";
    EXPECT_TRUE(state.is_news(6, table_now - 1)) << "the clock was set back";
    state.refuse(9);
    EXPECT_TRUE(state.is_refused(9));
    EXPECT_TRUE(state.tell(3));
    EXPECT_FALSE(state.tell(3));
    EXPECT_TRUE(state.tell(0));
}

TEST(SharedState, TheNextConfigurationInheritsTheLastGoodText) {
    TableMemory memory(sizeof(SharedState));
    TableMemory next_memory(sizeof(SharedState));
    auto& state = *static_cast<SharedState*>(memory.at());
    auto& next = *static_cast<SharedState*>(next_memory.at());
    const LockUser user = this_process();
    next.inherit(state, user);
    EXPECT_FALSE(next.has_last_good());
    state.take(7, "seven", table_now, user);
    EXPECT_TRUE(state.tell(3));
    next.inherit(state, user);
    EXPECT_TRUE(next.has_last_good());
    EXPECT_EQ(next.last_good(user), "seven");
    EXPECT_EQ(next.version(), 0) << "what is there is read again";
    EXPECT_FALSE(next.tell(3)) << "the log has said it";
    EXPECT_EQ(state.last_good(user), "seven");
}

TEST(SharedState, OneProcessHasTheTurn) {
    TableMemory memory(sizeof(SharedState));
    auto& state = *static_cast<SharedState*>(memory.at());
    EXPECT_TRUE(state.take_turn(10'000, 800));
    EXPECT_FALSE(state.take_turn(10'000, 800));
    EXPECT_FALSE(state.take_turn(10'799, 800));
    EXPECT_FALSE(state.take_turn(9'990, 800)) << "its clock is a little behind";
    EXPECT_TRUE(state.take_turn(10'800, 800));
    EXPECT_TRUE(state.take_turn(400, 800)) << "the clock has gone round";
}

}  // namespace
}  // namespace rate_limit::shared_text_test
