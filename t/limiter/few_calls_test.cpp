// A lease on two machines of two workers each: hardly a request reaches Redis, no limit is passed, and hardly
// anything of it is left while requests are rejected.

#include <array>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <vector>

#include "t/limiter/scenario.h"

namespace rate_limit::world::few_calls_test {
namespace {

constexpr std::int64_t limit = 100'000;

/// By machine.
template <typename T>
using Each = std::array<T, 2>;

/// The fate of the requests of a key.
struct Seen {
    std::int64_t passed = 0;
    std::int64_t passed_late = 0;  ///< when a machine had rejected one
    bool rejects = false;
};

class FewCalls : public testing::Test, private CommandObserver {
protected:
    FewCalls() {
        for (std::size_t i = 0; i < 4; ++i) {
            world.worker(i / 2, i % 2);
        }
        primary.server().observe(this);
        world.pass(1'000);  // connections are there
    }

    /// So many requests a second come to each machine, each for the next key, until it is enough.
    void flood(const std::vector<std::string>& keys, Each<std::int64_t> a_second,
               const std::function<bool(Each<std::int64_t>)>& is_enough) {
        Each<std::int64_t> sent{};
        for (const Micros begun = world.events.now(); !is_enough(sent);) {
            for (std::size_t i = 0; i < 2; ++i) {
                for (; sent[i] * 1'000'000 < (world.events.now() - begun) * a_second[i]; ++sent[i]) {
                    const auto turn = static_cast<std::size_t>(sent[i]);
                    const std::string& key = keys[turn / 2 % keys.size()];
                    requests_.emplace_back(world.worker(turn % 2, i), key, seen[i][key], seen[1 - i][key]);
                }
            }
            world.events.pass(100);
            requests_.remove_if([](Request& request) { return request.has_ended(); });
        }
    }

    /// All of the window is used up, and both machines know it.
    void use_up(const std::string& key, Each<std::int64_t> a_second) {
        flood({key}, a_second, [&](const auto&) {
            return seen[0][key].rejects && seen[1][key].rejects && used(key) == limit;
        });
        EXPECT_EQ(passed(key), limit) << "never one more";
        EXPECT_LE(seen[0][key].passed_late + seen[1][key].passed_late, limit / 200);
    }

    std::int64_t used(const std::string& key) { return primary.used(stored_key(key)); }
    std::int64_t passed(const std::string& key) { return seen[0][key].passed + seen[1][key].passed; }

    Scenario world{{"default", "100000r/h", "lease"}};
    Redis primary{world.events, world.network, Scenario::primary_address};
    Each<std::map<std::string, Seen>> seen;
    std::int64_t calls = 0;  // of scripts

private:
    /// A request that ends when it is decided.
    class Request {
    public:
        Request(WorkerProcess& worker, const std::string& key, Seen& here, const Seen& there)
            : request_(worker, key, 1), here_(here), there_(there) {
            request_.begin();
        }

        bool has_ended() {
            if (request_.is_decided() && !request_.is_admitted()) {
                EXPECT_EQ(outcome(request_), "REJECTED");
                here_.rejects = true;
            } else if (request_.is_decided()) {
                request_.end();
                ++here_.passed;
                here_.passed_late += here_.rejects || there_.rejects ? 1 : 0;
            }
            return request_.is_over();
        }

    private:
        ClientRequest request_;
        Seen& here_;
        const Seen& there_;
    };

    void on_command(Server& /*server*/, const ServerCommand& command, Words /*words*/) override {
        calls += command.name == "evalsha" ? 1 : 0;
    }

    std::list<Request> requests_;
};

TEST_F(FewCalls, AreMadeForManyKeysThoughAllBeginWithSmallBatches) {
    std::vector<std::string> keys;
    for (int i = 0; i < 20; ++i) {
        keys.push_back("k" + std::to_string(i));
    }
    constexpr std::int64_t requests = 30'000;  // of each machine
    flood(keys, {15'000, 15'000}, [](const auto& sent) { return sent[0] >= requests; });
    EXPECT_LE(calls, 2 * requests / 100);
    RecordProperty("calls", static_cast<int>(calls));
    EXPECT_TRUE(world.stop_all());
    for (const std::string& key : keys) {
        EXPECT_EQ(passed(key), 3'000);
        EXPECT_EQ(used(key), 3'000) << "when the machines have left, Redis holds what has passed";
    }
}

TEST_F(FewCalls, AreMadeInAWholeWindow) {
    flood({"k"}, {10'000, 10'000}, [](const auto& sent) { return sent[0] + sent[1] >= limit / 10 * 9; });
    use_up("k", {2'000, 2'000});
    RecordProperty("calls", static_cast<int>(calls));
    EXPECT_LE(calls, limit / 500);
}

TEST_F(FewCalls, LeaveASlowMachineItsShare) {
    flood({"k"}, {20'000, 0}, [](const auto& sent) { return sent[0] >= limit / 10 * 9; });
    use_up("k", {2'000, 40});
    const Seen& slow = seen[1]["k"];
    EXPECT_GT(slow.passed, slow.passed_late) << "before anybody is rejected";
}

}  // namespace
}  // namespace rate_limit::world::few_calls_test
