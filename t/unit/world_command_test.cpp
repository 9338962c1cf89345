#include <sstream>

#include "t/world/refusal.h"
#include "t/worlds/command.h"

// The arguments of the program of random worlds: numbers, faults, and files of seeds.

namespace rate_limit::world {
namespace {

TEST(WorldCommand, Numbers) {
    EXPECT_EQ(whole_number("0"), 0U);
    EXPECT_EQ(whole_number("999999999999999999"), 999'999'999'999'999'999U);
    EXPECT_EQ(whole_number("999999999", 9), 999'999'999U);
    EXPECT_EQ(refusal([] { whole_number("1000000000", 9); }),
              "\"1000000000\" is no whole number of at most 9 digits");
    for (const char* word : {"", "-1", "+1", " 1", "1 ", "1x", "abc", "1.5", "1000000000000000000"}) {
        EXPECT_EQ(refusal([word] { whole_number(word); }),
                  "\"" + std::string(word) + "\" is no whole number of at most 18 digits");
    }
}

TEST(WorldCommand, Faults) {
    EXPECT_EQ(fault_numbers("none", 2), std::vector<std::size_t>{});
    EXPECT_EQ(fault_numbers("2,0", 3), (std::vector<std::size_t>{2, 0}));
    const struct {
        const char* word;
        const char* wrong;
    } cases[] = {
        {"", "\"\" is no whole number of at most 18 digits"},
        {",", "\"\" is no whole number of at most 18 digits"},
        {"0,", "\"\" is no whole number of at most 18 digits"},
        {",0", "\"\" is no whole number of at most 18 digits"},
        {"0,,1", "\"\" is no whole number of at most 18 digits"},
        {"0, 1", "\" 1\" is no whole number of at most 18 digits"},
        {"none,0", "\"none\" is no whole number of at most 18 digits"},
        {"0,3", "there is no fault 3: the world has 3"},
        {"0,1,0", "the fault 0 is named twice in \"0,1,0\""},
        {"0,00", "the fault 0 is named twice in \"0,00\""},
    };
    for (const auto& each : cases) {
        EXPECT_EQ(refusal([&each] { fault_numbers(each.word, 3); }), each.wrong) << each.word;
    }
}

TEST(WorldCommand, Seeds) {
    std::istringstream sense("# seeds\n\n7 it failed\n12 \t and once more\n");
    EXPECT_EQ(seeds_of(sense, "file"), (std::vector<std::uint64_t>{7, 12}));
    const struct {
        const char* line;
        const char* wrong;
    } cases[] = {
        {"7", "file line 3: wanted are a seed, a blank and a reason"},
        {"7 ", "file line 3: wanted are a seed, a blank and a reason"},
        {"7   ", "file line 3: wanted are a seed, a blank and a reason"},
        {"7 \t", "file line 3: wanted are a seed, a blank and a reason"},
        {"7 \r", "file line 3: wanted are a seed, a blank and a reason"},
        {"\r", "file line 3: wanted are a seed, a blank and a reason"},
        {"7\tit failed", "file line 3: \"7\tit\" is no whole number of at most 18 digits"},
        {"7 it failed\r", "file line 3: it ends in a carriage return"},
        {"x it failed", "file line 3: \"x\" is no whole number of at most 18 digits"},
        {" 7 it failed", "file line 3: \"\" is no whole number of at most 18 digits"},
    };
    for (const auto& each : cases) {
        std::istringstream lines("# seeds\n5 it failed\n" + std::string(each.line) + "\n9 it failed\n");
        EXPECT_EQ(refusal([&lines] { seeds_of(lines, "file"); }), each.wrong) << each.line;
    }
    std::istringstream none("# seeds\n");
    EXPECT_EQ(refusal([&none] { seeds_of(none, "file"); }), "file has no seeds, or cannot be read");
}

}  // namespace
}  // namespace rate_limit::world
