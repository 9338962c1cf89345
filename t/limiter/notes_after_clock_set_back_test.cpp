// Notes of tokens of buckets. The wall clock is set while there are some: back, so that what notes them would
// last until the clock comes there again, and take the room of others: it goes at the next look, also while
// the primary is away; or forward. And there is no room for all of them.

#include <cstddef>
#include <string>

#include "limiter/tallies/tallies.h"
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

/// Tokens die by the clock that nobody sets.
TEST_F(NotesAfterAClockSetBack, OrForwardAccountForAllTokens) {
    std::uint64_t spent = 0;
    for (const Micros step : {Micros{-3'600'000'000}, Micros{5'000'000}}) {
        const std::uint64_t returned = counted(world, TokenEvent::returned);
        world.machine().clock().stepped += step;
        expect_that_all_go();
        EXPECT_EQ(counted(world, TokenEvent::spent), spent += 2'500 * keys) << "requests alone spend";
        EXPECT_GT(counted(world, TokenEvent::returned), returned) << "some were worth to go back";
        half();
    }
    world.machine().clock().stepped += 20'000'000;
    EXPECT_TRUE(world.stop_all());
    EXPECT_EQ(noted(), 0U) << "they go back when the worker ends";
}

/// The zone has room for fewer notes than there are clients.
class NotesOfASmallZone : public testing::Test {
protected:
    /// So many clients that are not known yet: a request each, all of which pass.
    void come(int count, bool exempt = false) {
        for (int i = 0; i < count; ++i) {
            ClientRequest& request = world.begin("k" + std::to_string(++clients));
            EXPECT_TRUE(world.until([&request] { return request.is_decided(); }));
            EXPECT_EQ(outcome(request), "PASSED");
            request.end(exempt);
        }
    }

    void settle() {
        EXPECT_TRUE(world.until(
            [this] {
                return counted(world, TokenEvent::spent) + counted(world, TokenEvent::lost) +
                           counted(world, TokenEvent::returned) ==
                       counted(world, TokenEvent::fetched);
            },
            20'000));
    }

    Scenario world{{"default", "1000r/s", "lease", 20'000, "main", 5'000}, 9'000};
    Redis primary{world.events, world.network, Scenario::primary_address};
    int clients = 0;
};

/// No note gives way to one of another client before its tokens have gone back, though by the clock it is
/// over; what finds no room is fetched for its request alone, and goes back at once where that is exempt.
TEST_F(NotesOfASmallZone, AccountForAllTokens) {
    come(2'000);
    EXPECT_GT(PressureGauge(world.machine().zone().counters()).count(Pressure::full), 0U);
    world.machine().clock().stepped = 5'000'000;
    come(2'000);
    settle();
    EXPECT_EQ(counted(world, TokenEvent::spent), 4'000U) << "each client has spent one";
    EXPECT_GT(counted(world, TokenEvent::returned), 0U);
    EXPECT_GT(counted(world, TokenEvent::fetched), 400'000U) << "many have fetched a batch";
    come(1'500, true);
    settle();
    EXPECT_EQ(counted(world, TokenEvent::spent), 4'000U) << "exempt ones have spent none";
}

}  // namespace
}  // namespace rate_limit::world::notes_after_clock_set_back_test
