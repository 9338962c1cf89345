#include "core/value_text.h"

#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace rate_limit::value_text_test {
namespace {

using Kind = ValuePart::Kind;
using Parts = std::vector<std::pair<Kind, std::string>>;

Parts parts_of(std::string_view text) {
    Parts parts;
    for (ValueText rest(text); !rest.at_end();) {
        const ValuePart part = rest.next();
        parts.emplace_back(part.kind, part.text);
        if (part.is_error()) {
            break;
        }
    }
    return parts;
}

TEST(ValueText, ReadsLiteralsVariablesAndCaptures) {
    EXPECT_EQ(parts_of(""), Parts{});
    EXPECT_EQ(parts_of("all"), (Parts{{Kind::literal, "all"}}));
    EXPECT_EQ(parts_of("$a"), (Parts{{Kind::variable, "a"}}));
    EXPECT_EQ(parts_of("${a}"), (Parts{{Kind::variable, "a"}}));
    EXPECT_EQ(parts_of("$1$m"), (Parts{{Kind::capture, "1"}, {Kind::variable, "m"}}));
    EXPECT_EQ(
        parts_of("$m:$9x"),
        (Parts{{Kind::variable, "m"}, {Kind::literal, ":"}, {Kind::capture, "9"}, {Kind::literal, "x"}}));
    EXPECT_EQ(parts_of("a${b}c$d-e"), (Parts{{Kind::literal, "a"},
                                             {Kind::variable, "b"},
                                             {Kind::literal, "c"},
                                             {Kind::variable, "d"},
                                             {Kind::literal, "-e"}}));
}

TEST(ValueText, KnowsWhatNginxTakesForVariables) {
    EXPECT_EQ(parts_of("$12"), (Parts{{Kind::capture, "1"}, {Kind::literal, "2"}}));
    EXPECT_EQ(parts_of("$0"), (Parts{{Kind::variable, "0"}})) << "no capture";
    EXPECT_EQ(parts_of("${1}"), (Parts{{Kind::variable, "1"}})) << "no capture either";
    EXPECT_EQ(parts_of("$a}"), (Parts{{Kind::variable, "a"}, {Kind::literal, "}"}}));
    EXPECT_EQ(parts_of("{$A_9z}"),
              (Parts{{Kind::literal, "{"}, {Kind::variable, "A_9z"}, {Kind::literal, "}"}}));
}

TEST(ValueText, TellsErrors) {
    for (const char* text : {"$", "$ a", "$$a", "$-", "${", "${}", "$\xc3\xa4"}) {
        EXPECT_EQ(parts_of(text).back().first, Kind::nameless) << text;
    }
    EXPECT_EQ(parts_of("a${b"), (Parts{{Kind::literal, "a"}, {Kind::unclosed, "b"}}));
    EXPECT_EQ(parts_of("${b-}"), (Parts{{Kind::unclosed, "b"}}));
    EXPECT_EQ(parts_of("${-}"), (Parts{{Kind::unclosed, ""}}));
}

std::string written(const Parts& parts) {
    std::string text;
    for (const auto& [kind, part] : parts) {
        text += kind == Kind::literal ? part : kind == Kind::capture ? "$" + part : "${" + part + "}";
    }
    return text;
}

TEST(ValueText, ReadsAnythingToItsEnd) {
    constexpr std::string_view letters = "$${}019az_AZ-: \x80";
    std::mt19937 random(1);
    for (int round = 0; round < 200'000; ++round) {
        std::string text(random() % 12, ' ');
        for (char& c : text) {
            c = letters[random() % letters.size()];
        }
        const Parts parts = parts_of(text);
        if (!parts.empty() && parts.back().first >= Kind::nameless) {
            continue;
        }
        for (const auto& [kind, part] : parts) {
            EXPECT_FALSE(part.empty()) << text;
            EXPECT_EQ(part.find('$'), std::string::npos) << text;
        }
        EXPECT_EQ(parts_of(written(parts)), parts) << text;
    }
}

}  // namespace
}  // namespace rate_limit::value_text_test
