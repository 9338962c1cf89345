#include "operator/figures/family.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

namespace rate_limit::family_test {
namespace {

constexpr std::array<Family<std::uint64_t>, 2> families = {{
    {[](MetricsText& text) { text.family("a", MetricsText::Type::gauge, "A."); },
     [](MetricsText& text, const std::uint64_t& each) { text.sample({}, each); }},
    {[](MetricsText& text) { text.family("b", MetricsText::Type::gauge, "B."); },
     [](MetricsText& text, const std::uint64_t& each) { text.sample({}, each + 10); }},
}};

std::vector<std::string> pieces(const std::vector<std::uint64_t>& all) {
    std::vector<std::string> pieces;
    FamilyWriter writer;
    MetricsText text;
    while (writer.write_more(text, families, all)) {
        pieces.push_back(text.take());
    }
    return pieces;
}

std::size_t lines(const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(FamilyWriter, HasAPieceForEachSample) {
    const auto written = pieces({1, 2, 3});
    ASSERT_EQ(written.size(), 6U);
    for (std::size_t i = 0; i < written.size(); ++i) {
        EXPECT_EQ(lines(written[i]), i % 3 == 0 ? 3U : 1U) << written[i];
    }
    EXPECT_NE(written[0].find("_a 1\n"), std::string::npos);
    EXPECT_NE(written[3].find("_b 11\n"), std::string::npos);
}

TEST(FamilyWriter, WritesFamiliesWithoutSamples) {
    const auto written = pieces({});
    ASSERT_EQ(written.size(), 2U);
    EXPECT_EQ(lines(written[0]), 2U);
    EXPECT_EQ(lines(written[1]), 2U);
}

}  // namespace
}  // namespace rate_limit::family_test
