#include "operator/figures/columns.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace rate_limit::columns_test {
namespace {

using Type = MetricsText::Type;

Figure itself(const std::uint64_t& row) {
    return row;
}

Figure none_of_twos(const std::uint64_t& row) {
    return row == 2 ? Figure() : Figure(row + 10);
}

constexpr Column<std::uint64_t> columns[] = {
    {"a", {}, "a", itself},
    {"of.first.b", {}, "b", none_of_twos},
    {"of.first.c", {}, "b", [](const std::uint64_t&) -> Figure { return std::int64_t{-1}; }},
    {{}, {}, "a", itself},
    {"of.second.d", {}, {}, [](const std::uint64_t&) -> Figure { return true; }},
    {"e", {}, {}, nullptr, [](JsonText& json, const std::uint64_t&) { json.begin_array().end_array(); }},
    {"of.f", {}, {}, [](const std::uint64_t&) -> Figure { return std::string_view("f"); }},
    {"first.g", {}, {}, none_of_twos},
};

constexpr Family<std::uint64_t> families[] = {
    {"a", Type::gauge, "A."},
    {"b", Type::counter, "B.", nullptr, "kind.name"},
};

constexpr Sheet<std::uint64_t> sheet{columns, families, [](const std::uint64_t&) -> MetricsText::Labels {
                                         return {{"of", "it"}};
                                     }};

class Text : public Pieces<MetricsText> {
public:
    explicit Text(const std::vector<std::uint64_t>& rows) { add_families(*this, sheet, rows); }
};

std::size_t lines(const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

/// The lines of each piece.
std::vector<std::size_t> pieces(const std::vector<std::uint64_t>& rows) {
    std::vector<std::size_t> pieces;
    std::size_t before = 0;
    for (std::size_t count = 1;; ++count) {
        Text text(rows);
        bool more = true;
        for (std::size_t i = 0; i < count && more; ++i) {
            more = text.write_more();
        }
        const std::size_t all = lines(text.take());
        pieces.push_back(all - before);
        before = all;
        if (!more) {
            return pieces;
        }
    }
}

TEST(Columns, HaveAPieceForEachFamilyAndForEachOfItsRows) {
    EXPECT_EQ(pieces({1, 2, 3}), (std::vector<std::size_t>{2, 2, 2, 2, 2, 2, 1, 2}));
}

TEST(Columns, HaveFamiliesWithoutSamples) {
    EXPECT_EQ(pieces({}), (std::vector<std::size_t>{2, 0, 2, 0}));
}

TEST(Columns, GiveLabelsTheLastPartsOfTheirNames) {
    const std::vector<std::uint64_t> rows{1};
    Text text(rows);
    const std::string written = write_whole(text);
    EXPECT_NE(written.find("_a{of=\"it\"} 1\n"), std::string::npos) << written;
    EXPECT_NE(written.find("_b{of=\"it\",kind=\"first\",name=\"b\"} 11\n"), std::string::npos) << written;
    EXPECT_NE(written.find("_b{of=\"it\",kind=\"first\",name=\"c\"} 0\n"), std::string::npos) << written;
}

TEST(Columns, AreMembersOfObjectsOfObjects) {
    JsonText json;
    write_members(json.begin_object(), sheet.columns, std::uint64_t{2});
    json.name("h").null().end_object();
    EXPECT_EQ(json.take(),
              R"({"a":2,"of":{"first":{"b":null,"c":-1},"second":{"d":true}},"e":[],"of":{"f":"f"},)"
              R"("first":{"g":null},"h":null})");
}

/// It may also add others, which come last.
TEST(Pieces, AreCalledAgainAsLongAsTheyAreTrue) {
    Pieces<JsonText> pieces("!");
    int left = 3;
    pieces.add([&](JsonText& json) {
        json.begin_array();
        pieces.add([](JsonText& last) { last.end_array(); });
    });
    pieces.add_some([&](JsonText& json) {
        json.number(left);
        return --left != 0;
    });
    EXPECT_EQ(write_whole(pieces), "[3,2,1]!");
}

}  // namespace
}  // namespace rate_limit::columns_test
