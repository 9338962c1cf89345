// A refund's answer tells of the server that takes it.

#include <algorithm>
#include <string>
#include <vector>

#include "t/limiter/one_machine.h"

namespace rate_limit::world::refunds_test {
namespace {

bool has(const std::vector<std::string>& lines, const std::string& text) {
    return std::any_of(lines.begin(), lines.end(),
                       [&text](const std::string& line) { return line.find(text) != std::string::npos; });
}

/// A refund to a bucket writes nothing where another type is in its place: a replica answers that, too.
TEST(RefundToABucketOfAnotherType, DoesNotProveThatAServerTakesWrites) {
    OneMachine world({"default", "10r/h", "charge_refund", 5});
    ClientRequest first(world.worker(), "client");
    first.begin();
    world.pass(10);
    ASSERT_TRUE(first.is_admitted());
    world.put_lists();
    world.primary.server().state.role = ServerRole::replica;
    ClientRequest second(world.worker(), "client");
    second.begin();
    world.pass(200);
    second.end();
    ASSERT_TRUE(has(world.worker().loop().take_lines(), "refuses charges"));
    first.end(true);
    world.pass(30'000);
    EXPECT_FALSE(has(world.worker().loop().take_lines(), "takes charges again"));
}

}  // namespace
}  // namespace rate_limit::world::refunds_test
