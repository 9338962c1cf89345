// Charges of requests that come while the module's user lacks a right: none is stored twice or goes untold,
// and where a single right is missing no key is stored for ever.

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "t/limiter/one_machine.h"

namespace rate_limit::world::rights_of_charges_test {
namespace {

constexpr int clients = 12;
constexpr int evicted = 1;  // of three
constexpr const char* rights[]{"hget", "hmget", "hgetall", "hset",    "hdel", "hincrby",    "hlen",
                               "del",  "pttl",  "pexpire", "evalsha", "eval", "script|load"};

std::string key_of(int client) {
    return stored_key("k" + std::to_string(client));
}

/// A third of the clients has an open window, another third had one that was evicted, and the others come for
/// the first time while the right is lacking. Each is charged then, and again when it is back.
void ask_without(const std::string& right, const std::string& other, const std::string& mode,
                 ServerVersion version) {
    SCOPED_TRACE(mode + " without " + right + " " + other);
    OneMachine world({"default", "1000r/h", mode});
    world.primary.server().state.version = version;
    world.worker(0);
    world.worker(1);
    world.pass(1'000);
    Keyspace& keys = world.primary.server().databases().front();
    std::array<std::int64_t, clients> admitted{};
    const auto ask_all = [&](int from, int step) {
        for (int i = from; i < clients; i += step) {
            const std::string outcome =
                world.ask("k" + std::to_string(i), &world.worker(static_cast<std::size_t>(i / 3 % 2)));
            admitted.at(static_cast<std::size_t>(i)) += outcome == "PASSED" || outcome == "ERROR_ALLOWED";
            world.pass(50);
        }
    };
    ask_all(0, 3);
    for (int i = evicted; i < clients; i += 3) {
        world.ask("k" + std::to_string(i));
    }
    world.pass(1'000);
    for (int i = evicted; i < clients; i += 3) {
        keys.erase(key_of(i));
    }
    world.primary.server().state.forbidden = {right, other};
    ask_all(0, 1);
    world.pass(5'000);
    world.primary.server().state.forbidden.clear();
    ask_all(0, 1);
    world.pass(30'000);
    EXPECT_TRUE(world.stop_all());
    std::int64_t untold = 0;
    for (int i = 0; i < clients; ++i) {
        const std::int64_t more = world.primary.used(key_of(i)) - admitted.at(static_cast<std::size_t>(i));
        EXPECT_LE(more, other.empty() ? 0 : 1) << key_of(i);
        untold += std::max<std::int64_t>(0, more);
    }
    EXPECT_LE(untold, static_cast<std::int64_t>(counted(world, Loss::reservations_in_doubt)));
    for (int i = 0; i < clients; ++i) {
        const Value* value = keys.find(key_of(i));
        // An increment that finds its key gone makes one without an expiry.
        if (other.empty() && i % 3 != evicted && value != nullptr) {
            EXPECT_NE(value->expires, never) << key_of(i);
        }
    }
}

TEST(ChargesWithoutARight, AreNeitherStoredTwiceNorUntold) {
    for (const std::string mode : {"check_charge", "charge_refund", "lease"}) {
        for (const ServerVersion version :
             {ServerVersion::redis_6, ServerVersion::redis_7, ServerVersion::redis_8}) {
            for (const char* const right : rights) {
                ask_without(right, "", mode, version);
                ask_without(right, "pexpire", mode, version);
            }
        }
    }
}

}  // namespace
}  // namespace rate_limit::world::rights_of_charges_test
