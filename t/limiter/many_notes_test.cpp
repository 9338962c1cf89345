// Tokens of many keys are looked at and given back a few at a time, by workers that share the way over all of
// them, so that no turn of a worker's event loop does much for them; and all come back, each once.

#include <algorithm>
#include <regex>
#include <string>

#include "t/limiter/one_machine.h"

namespace rate_limit::world::many_notes_test {
namespace {

/// The notes that turns have looked at and given back, by their debug lines.
class Looks final : public TurnObserver {
public:
    Looks() { Loop::observe(this); }
    ~Looks() { Loop::observe(nullptr); }

    void on_debug_line(std::string_view line) override {
        static const std::regex form("looked at (\\d+) sets and (\\d+) notes, gave back (\\d+)");
        const std::string text(line);
        std::smatch found;
        if (text.find("looked at ") != std::string::npos && std::regex_search(text, found, form)) {
            sets = std::max(sets, std::stoi(found[1]));
            notes = std::max(notes, std::stoi(found[2]));
            most = std::max(most, std::stoi(found[3]));
            given_back += std::stoi(found[3]);
        }
    }
    void on_command(const std::string& /*address*/, std::string_view /*command*/) override {}
    void on_fate(std::string_view /*command*/, const Reply* /*reply*/) override {}
    void on_connect(const std::string& /*address*/) override {}
    void on_line(LogLevel /*level*/, std::string_view /*line*/) override {}
    void on_end_of_turn(const Loop& /*loop*/) override {}

    int sets = 0;
    int notes = 0;
    int most = 0;
    int given_back = 0;
};

/// They go back when their keys are idle, by workers of a later configuration too, and at the end.
TEST(ManyNotes, AreLookedAtAFewAtATime) {
    constexpr int keys = 6'000;
    Looks looks;
    OneMachine world({"default", "1000000r/h", "lease"}, 20'000);
    world.setup.zone_size = std::size_t{64} << 20;
    world.worker(1);
    const auto used = [&world](const std::string& name) {
        std::int64_t sum = 0;
        for (int i = 0; i < keys; ++i) {
            sum += world.primary.used(stored_key(name + std::to_string(i)));
        }
        return sum;
    };
    for (const std::string name : {"idle", "end"}) {
        looks.given_back = 0;
        for (int i = 0; i < keys; ++i) {
            EXPECT_EQ(world.admitted(2, name + std::to_string(i), world.machine().workers().back().get()),
                      2U);
        }
        EXPECT_GT(used(name), 20 * keys) << "many tokens are at hand";
        world.reload();
        if (name == "idle") {
            for (int seconds = 0; seconds < 60 && used(name) != 2 * keys; ++seconds) {
                world.pass(1'000);
            }
            world.end_leaving();
        } else {
            EXPECT_TRUE(world.stop_all());
        }
        EXPECT_EQ(used(name), 2 * keys);
        EXPECT_EQ(looks.given_back, keys) << "each once";
    }
    EXPECT_LE(looks.sets, 512);
    EXPECT_LE(looks.notes, 400);
    EXPECT_LE(looks.most, 50);
    EXPECT_EQ(world.logged("is down|does not serve|[^0] lost"), 0U);
}

}  // namespace
}  // namespace rate_limit::world::many_notes_test
