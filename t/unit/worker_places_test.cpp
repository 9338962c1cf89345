#include "core/machine/workers/worker_places.h"

#include <memory>
#include <set>

#include <gtest/gtest.h>

#include "own_places.h"

namespace rate_limit::worker_places_test {
namespace {

std::set<std::uint32_t> dead;

bool lives(const Process& process) {
    return dead.count(process.pid) == 0;
}

class WorkerPlacesTest : public testing::Test {
protected:
    WorkerPlacesTest() { dead.clear(); }

    std::optional<std::size_t> take(std::uint32_t pid) { return places->take({{pid, 1}, lives}); }

    const std::unique_ptr<OwnPlaces> places = std::make_unique<OwnPlaces>();
};

TEST_F(WorkerPlacesTest, EachWorkerHasAPlaceOfItsOwn) {
    EXPECT_EQ(take(11), 0U);
    EXPECT_EQ(take(12), 1U);
    EXPECT_EQ(places->end(), 2U);
    EXPECT_EQ(places->owner_of(1), OwnedLock::word_of({12, 1}));
    EXPECT_FALSE(places->find_dead(lives));
    EXPECT_EQ(places->deaths(), 0U);
}

TEST_F(WorkerPlacesTest, ADeathIsCountedOnce) {
    take(11);
    take(12);
    dead = {11};
    EXPECT_TRUE(places->find_dead(lives));
    EXPECT_EQ(places->deaths(), 1U);
    EXPECT_EQ(places->owner_of(0), 0U);
    EXPECT_FALSE(places->find_dead(lives));
    EXPECT_EQ(places->deaths(), 1U);
}

TEST_F(WorkerPlacesTest, ANewWorkerFindsTheDeadAndTakesTheirPlace) {
    take(11);
    places->set_changing(0, 77);
    EXPECT_TRUE(places->is_changing(0, 77));
    EXPECT_FALSE(places->is_changing(0, 78));
    dead = {11};
    places->find_dead(lives);
    EXPECT_FALSE(places->is_changing(0, 77)) << "the dead one changes nothing any more";
    EXPECT_EQ(take(13), 0U);
    EXPECT_EQ(places->deaths(), 1U);
    EXPECT_FALSE(places->is_changing(0, 77));
}

TEST_F(WorkerPlacesTest, WhoLeavesIsCountedToo) {
    take(11);
    places->leave(0);
    EXPECT_EQ(places->deaths(), 1U);
    EXPECT_EQ(places->owner_of(0), 0U);
}

TEST_F(WorkerPlacesTest, OneWorkerCorrectsAfterADeath) {
    take(11);
    take(12);
    EXPECT_FALSE(places->take_correction());
    dead = {11};
    places->find_dead(lives);
    EXPECT_TRUE(places->take_correction());
    EXPECT_FALSE(places->take_correction());
}

TEST_F(WorkerPlacesTest, AnotherProcessUsesThem) {
    struct alignas(WorkerPlaces::alignment) Memory {
        char bytes[WorkerPlaces::bytes_for(2)] = {};
    } memory;
    WorkerPlaces first;
    WorkerPlaces second;
    EXPECT_FALSE(first.use(&memory, WorkerPlaces::bytes_for(0))) << "no place";
    EXPECT_TRUE(first.use(&memory, sizeof memory));
    EXPECT_EQ(first.take({{11, 1}, lives}), 0U);
    EXPECT_TRUE(second.use(&memory, sizeof memory));
    EXPECT_EQ(second.most(), 2U);
    EXPECT_EQ(second.owner_of(0), OwnedLock::word_of({11, 1}));
}

TEST_F(WorkerPlacesTest, ThereAreSoManyPlaces) {
    for (std::uint32_t i = 0; i < places->most(); ++i) {
        EXPECT_EQ(take(i + 1), i);
    }
    EXPECT_EQ(take(1000), std::nullopt);
    dead = {5, 9};
    EXPECT_EQ(take(1000), 4U);
    EXPECT_EQ(places->deaths(), 2U);
}

TEST(WorkerPlacesTurns, OneOfAllTakesTheTurnToLookForTheDead) {
    OwnPlaces places(4);
    EXPECT_TRUE(places.take_turn(1000, 200));
    EXPECT_FALSE(places.take_turn(1199, 200));
    EXPECT_TRUE(places.take_turn(1200, 200));
    EXPECT_FALSE(places.take_turn(1200, 200));
    EXPECT_TRUE(places.take_turn(100, 200)) << "the clock has come round";
}

}  // namespace
}  // namespace rate_limit::worker_places_test
