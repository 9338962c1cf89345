// The wall clock is set back while tokens of buckets are noted: what notes them would last until the clock
// comes there again, and take the room of others. It goes at the next look, also while the primary is away.

#include <cstddef>
#include <string>

#include "t/limiter/scenario.h"

namespace rate_limit::world::notes_after_clock_set_back_test {
namespace {

class NotesAfterAClockSetBack : public testing::Test {
protected:
    static constexpr int keys = 200;

    NotesAfterAClockSetBack() {
        world.setup.on_error = OnError::deny;
        world.setup.zone_size = std::size_t{4} << 20;
        half();
        EXPECT_GE(noted(), keys / 2U) << "a batch for each key, of which half is at hand";
    }

    /// Half of a batch for each of the keys, within the life of its tokens.
    void half() {
        for (int i = 0; i < keys; ++i) {
            ClientRequest& request = world.begin({"k" + std::to_string(i), 2'500});
            world.pass(2);
            EXPECT_EQ(outcome(request), "PASSED");
            request.end();
        }
    }

    std::size_t noted() {
        std::size_t count = 0;
        world.machine().zone().debts().for_each(
            [&count](const DebtRecord& debt) { count += debt.kind == DebtKind::bucket_tokens ? 1 : 0; });
        return count;
    }

    void set_back() { world.machine().clock().stepped -= 3'600'000'000; }

    void expect_that_all_go() {
        EXPECT_TRUE(world.until([&] { return noted() == 0; }, 20'000));
        EXPECT_EQ(counted(world, TokenEvent::spent) + counted(world, TokenEvent::lost) +
                      counted(world, TokenEvent::returned),
                  counted(world, TokenEvent::fetched));
    }

    Scenario world{{"default", "1000r/s", "lease", 20'000, "main", 5'000}};
    Redis primary{world.events, world.network, Scenario::primary_address};
};

TEST_F(NotesAfterAClockSetBack, OfTokensThatAreSpentGo) {
    half();
    set_back();
    expect_that_all_go();
    EXPECT_GE(counted(world, TokenEvent::spent), 5'000U * keys);
}

TEST_F(NotesAfterAClockSetBack, GoWhileThePrimaryIsAway) {
    primary.kill(true);
    set_back();
    expect_that_all_go();
}

TEST_F(NotesAfterAClockSetBack, OfAStoreThatHasLeftTheConfigurationGo) {
    Redis other(world.events, world.network, Scenario::replica_address);
    world.setup.stores.push_back(Scenario::store_at(Scenario::replica_address, 0, "other"));
    world.setup.stores.erase(world.setup.stores.begin());
    world.setup.limits.front().store = "other";
    world.reload();
    set_back();
    EXPECT_TRUE(world.until([&] { return noted() == 0; }, 20'000));
}

}  // namespace
}  // namespace rate_limit::world::notes_after_clock_set_back_test
