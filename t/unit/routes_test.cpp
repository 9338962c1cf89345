#include "redis/keys/routes.h"

#include <gtest/gtest.h>

namespace rate_limit::routes_test {
namespace {

Routes shards() {
    Routes routes("main");
    routes.add_shard("a", 1);
    routes.add_shard("b", 1);
    routes.add_shard("c", 1);
    return routes;
}

Routes slots(std::string_view store) {
    Routes routes(store);
    routes.use_slots();
    return routes;
}

TEST(Routes, OfShardsAreChosenByTheClientsKey) {
    const Routes routes = shards();
    EXPECT_EQ(routes.size(), 3U);
    EXPECT_EQ(routes.choose("alice", "anything"), 0U);
    EXPECT_EQ(routes.choose("a", "anything"), 2U);
    EXPECT_EQ(routes.choose("user:42", "anything"), 1U);
}

TEST(Routes, OfAClusterAreSlotsOfTheWindowsKey) {
    const Routes routes = slots("main");
    EXPECT_EQ(routes.size(), 16384U);
    EXPECT_EQ(routes.choose("anything", "foo"), 12182U);
    EXPECT_EQ(routes.choose("anything", "{foo}bar"), 12182U);
}

TEST(Routes, AreFoundAgainByTheirDigests) {
    for (const Routes& routes : {shards(), slots("main")}) {
        for (Route route = 0; route < routes.size(); ++route) {
            Route found = 0;
            ASSERT_TRUE(routes.find(routes.digest_of(route), found));
            ASSERT_EQ(found, route);
        }
    }
}

TEST(Routes, OfAnotherStoreAreNotFound) {
    const Routes routes = shards();
    const Routes main = slots("main");
    const Routes other = slots("other");
    Route found = 0;
    EXPECT_FALSE(routes.find(main.digest_of(1), found));
    EXPECT_FALSE(main.find(routes.digest_of(1), found));
    EXPECT_FALSE(main.find(other.digest_of(1), found));
}

TEST(Routes, SlotsOfOnePartAreCountedTogetherAndShardsApart) {
    const Routes main = slots("main");
    EXPECT_EQ(Routes::counted_as(main.digest_of(0)), Routes::counted_as(main.digest_of(1023)));
    EXPECT_NE(Routes::counted_as(main.digest_of(0)), Routes::counted_as(main.digest_of(1024)));
    EXPECT_EQ(Routes::first_of(Routes::part_count), 16384U);
    EXPECT_NE(Routes::counted_as(main.digest_of(0)), Routes::counted_as(slots("other").digest_of(0)));
    const Routes routes = shards();
    EXPECT_NE(Routes::counted_as(routes.digest_of(0)), Routes::counted_as(routes.digest_of(1)));
}

}  // namespace
}  // namespace rate_limit::routes_test
