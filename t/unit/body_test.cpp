#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "core/body/body_reader.h"
#include "t/unit/body_model.h"

namespace rate_limit::body_test {
namespace {

using body_model::Maker;
using body_model::Node;

/// Fields, each of which has these paths.
class Wanted {
public:
    explicit Wanted(std::vector<std::vector<std::string>> fields) : texts_(std::move(fields)) {
        for (const auto& paths : texts_) {
            fields_.begin_field();
            for (const std::string& text : paths) {
                BodyPath path;
                const char* wrong = path.parse(text);
                EXPECT_EQ(wrong, nullptr) << text << ": " << wrong;
                EXPECT_TRUE(fields_.add(path));
            }
        }
    }

    /// The values of the fields, "(none)" where there is none, and "bad" at the end where the body is.
    std::vector<std::string> read(BodyKind kind, const std::vector<std::string_view>& pieces) const {
        std::vector<BodyValue> values(fields_.size());
        BodyReader reader(fields_, kind, values.data());
        for (const std::string_view piece : pieces) {
            const std::string alone(piece);  // so that what is read beyond it is seen
            reader.read(alone);
        }
        reader.end();
        std::vector<std::string> found;
        for (const BodyValue& value : values) {
            found.emplace_back(value.found() ? value.text() : "(none)");
        }
        if (!reader.good()) {
            found.emplace_back("bad");
        }
        return found;
    }

private:
    const std::vector<std::vector<std::string>> texts_;
    BodyFields fields_;
};

using Found = std::vector<std::string>;

/// The value of one field, in one piece and cut at each place into two and everywhere.
std::string read(BodyKind kind, std::string_view body, std::vector<std::string> paths) {
    const Wanted wanted({std::move(paths)});
    const Found whole = wanted.read(kind, {body});
    std::vector<std::string_view> bytes;
    for (std::size_t i = 0; i < body.size(); ++i) {
        EXPECT_EQ(wanted.read(kind, {body.substr(0, i), body.substr(i)}), whole) << body << " cut at " << i;
        bytes.push_back(body.substr(i, 1));
    }
    EXPECT_EQ(wanted.read(kind, bytes), whole) << body;
    return whole.size() == 1 ? whole[0] : whole[0] + " " + whole[1];
}

std::string json(std::string_view body, std::vector<std::string> paths) {
    return read(BodyKind::json, body, std::move(paths));
}

std::string wrong_path(std::string_view text) {
    BodyPath path;
    const char* wrong = path.parse(text);
    return wrong != nullptr ? wrong : "";
}

TEST(BodyPath, RefusesWhatIsNone) {
    EXPECT_EQ(wrong_path("usage.total_tokens"), "");
    EXPECT_EQ(wrong_path("choices.*.finish_reason"), "");
    EXPECT_EQ(wrong_path("$schema"), "");
    EXPECT_EQ(wrong_path(std::string(64, 'x') + ".y"), "");
    EXPECT_EQ(wrong_path("a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p"), "");
    EXPECT_NE(wrong_path("a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q").find("16 names"), std::string::npos);
    EXPECT_NE(wrong_path(std::string(65, 'x')).find("64 bytes"), std::string::npos);
    EXPECT_NE(wrong_path("$.usage").find("leave \"$.\" away"), std::string::npos);
    for (const char* text : {"", ".", "a.", ".a", "a..b"}) {
        EXPECT_NE(wrong_path(text).find("single dots"), std::string::npos) << text;
    }
}

TEST(BodyFields, HaveSixtyFourPaths) {
    BodyFields fields;
    fields.begin_field();
    BodyPath path;
    ASSERT_EQ(path.parse("a"), nullptr);
    for (std::size_t i = 0; i < BodyFields::most_paths; ++i) {
        EXPECT_TRUE(fields.add(path));
    }
    EXPECT_FALSE(fields.add(path));
}

TEST(Body, HasValuesAtTheEndOfPaths) {
    EXPECT_EQ(json(R"({"usage":{"total_tokens":42}})", {"usage.total_tokens"}), "42");
    EXPECT_EQ(
        json(R"( {"x":[1,{"usage":7}],"usage" : {"a":1,"total_tokens" :42 } } )", {"usage.total_tokens"}),
        "42");
    EXPECT_EQ(json(R"({"c":[{"f":null},{"f":"stop"},{"f":"length"}]})", {"c.1.f"}), "stop");
    EXPECT_EQ(json(R"({"c":[{"f":null},{"f":"stop"},{"f":"length"}]})", {"c.*.f"}), "length");
    EXPECT_EQ(json(R"({"c":{"1":{"f":"named"}}})", {"c.1.f"}), "named");
    EXPECT_EQ(json(R"([[0,1],[2,3]])", {"1.0"}), "2");
    EXPECT_EQ(json(R"({"a":{"b":1}})", {"b"}), "(none)") << "a path begins at the root";
    EXPECT_EQ(json(R"({"a":{"b":1}})", {"a"}), "(none)") << "an object is no value";
    EXPECT_EQ(json(R"({"a":true,"b":1})", {"a"}), "(none)");
    EXPECT_EQ(json(R"({"a":5,"b":1,"a":null})", {"a"}), "5") << "what is no value leaves the one before";
    EXPECT_EQ(json(R"({"a":""})", {"a"}), "");
}

TEST(Body, TakesTheLastValueOfTheFirstPath) {
    EXPECT_EQ(json(R"({"b":1,"a":2,"b":3})", {"a", "b"}), "2");
    EXPECT_EQ(json(R"({"a":2,"a":4,"b":3})", {"a", "b"}), "4");
    EXPECT_EQ(json(R"({"b":1,"b":3})", {"a", "b"}), "3");
}

TEST(Body, KeepsDigitsAndTexts) {
    for (const std::string number : {"0", "-0", "1.50", "12345678901234567890123", "1e3", "-2.5E-07"}) {
        EXPECT_EQ(json("{\"a\":" + number + "}", {"a"}), number);
    }
    EXPECT_EQ(json(R"({"a":"\u00e9\u20AC\ud83d\ude00 \/\"\\"})", {"a"}),
              "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80 /\"\\");
    EXPECT_EQ(json(R"({"a":"\ud83dx\ude00\ud83d\ud83d\ude00\ud83d \ud83d"})", {"a"}),
              "\xef\xbf\xbdx\xef\xbf\xbd\xef\xbf\xbd\xf0\x9f\x98\x80\xef\xbf\xbd \xef\xbf\xbd");
    EXPECT_EQ(json(R"({"\u0061\u002e":{"b":3},"caf\u00e9":4})", {"caf\xc3\xa9"}), "4");
    EXPECT_EQ(json(R"({"us\u0061ge":4})", {"usage"}), "4");
    for (const std::size_t size : {127U, 128U}) {
        EXPECT_EQ(json("{\"a\":\"" + std::string(size, 'x') + "\"}", {"a"}), std::string(size, 'x'));
        EXPECT_EQ(json("{\"a\":" + std::string(size, '7') + "}", {"a"}), std::string(size, '7'));
    }
    EXPECT_EQ(json("{\"a\":\"" + std::string(129, 'x') + "\"}", {"a"}), "(none)");
    EXPECT_EQ(json("{\"a\":\"" + std::string(127, 'x') + "\\u00e9\"}", {"a"}), "(none)");
    EXPECT_EQ(json("{\"a\":" + std::string(129, '7') + "}", {"a"}), "(none)");
    EXPECT_EQ(json("{\"a\":\"" + std::string(5000, 'x') + "\",\"a\":3}", {"a"}), "3");
}

/// A line's end would begin another field where a header holds the variable.
TEST(Body, SaysNothingByATextWithControlCharacters) {
    for (const std::string text :
         {R"(a\r\nSet-Cookie: x)", R"(100\n)", R"(\t)", R"(\u0000)", R"(\u001f)", "\x7f"}) {
        EXPECT_EQ(json("{\"a\":\"" + text + "\"}", {"a"}), "(none)") << text;
        EXPECT_EQ(json("{\"a\":\"before\",\"a\":\"" + text + "\"}", {"a"}), "before") << text;
    }
}

std::string nested(std::size_t depth, const std::string& inside) {
    std::string body = inside;
    for (std::size_t i = 0; i < depth; ++i) {
        body = i % 2 == 0 ? "[" + body + "]" : "{\"x\":" + body + "}";
    }
    return body;
}

TEST(Body, IsReadToADepthOfSixtyFour) {
    EXPECT_EQ(json("{\"x\":" + nested(63, "1") + ",\"a\":2}", {"a"}), "2");
    EXPECT_EQ(json("{\"x\":" + nested(64, "1") + ",\"a\":2}", {"a"}), "(none) bad");
    EXPECT_EQ(json("{\"a\":1,\"x\":" + nested(64, "1") + ",\"a\":2}", {"a"}), "1 bad");
    const std::string deep = "data: " + nested(65, "") + "\n\ndata: {\"a\":3}\n\n";
    EXPECT_EQ(read(BodyKind::events, deep, {"a"}), "3") << "the next event is another document";
    EXPECT_EQ(json("{\"x\":" + std::string(1000, '['), {"x"}), "(none) bad");
}

TEST(Body, OfJsonIsWholeOrBad) {
    for (const char* body : {"",
                             " ",
                             "{",
                             "{\"a\":1",
                             "{\"a\":1}}",
                             "{\"a\":1} 2",
                             "{\"a\" 1}",
                             "{a:1}",
                             "{\"a\":1,}",
                             "[1,]",
                             "[,1]",
                             "{,}",
                             "[1}",
                             "{\"a\":1]",
                             "{\"b\":01}",
                             "[1.]",
                             "[-]",
                             "[1e]",
                             "[.5]",
                             "[+1]",
                             "[tru]",
                             "[nul",
                             "[truex]",
                             "[\"\\x\"]",
                             "[\"\\u12g4\"]",
                             "[\"\n\"]",
                             "\"a",
                             "1.",
                             "NaN",
                             "'a'",
                             "\xef\xbb",
                             "[1 2]",
                             "{\"a\":1 \"b\":2}"}) {
        EXPECT_EQ(json(body, {"nowhere"}), "(none) bad") << body;
    }
    for (const char* body :
         {"1", " -0.5e+1 ", "true", "null", "\"a\"", "[]", "{}", " [ ] ", "{ }", "\xef\xbb\xbf{}"}) {
        EXPECT_EQ(json(body, {"nowhere"}), "(none)") << body;
    }
}

std::string events(std::string_view body) {
    return read(BodyKind::events, body, {"usage.total", "message.usage"});
}

TEST(Body, OfEventsIsADocumentForEach) {
    EXPECT_EQ(
        events(
            "data: {\"usage\":{\"total\":1}}\n\ndata: {\"usage\":null}\n\ndata: {\"usage\":{\"total\":9}}\n\n"
            "data: [DONE]\n\n"),
        "9");
    EXPECT_EQ(events("event: message_start\r\ndata:{\"message\":{\"usage\":3}}\r\n\r\n: "
                     "{\"usage\":{\"total\":1}}\r\n"),
              "3");
    EXPECT_EQ(events("data: {\"usage\":\rdata: {\"total\":4}\rdata\rdata:}\r\r"), "4");
    EXPECT_EQ(events("\xef\xbb\xbf"
                     "data: {\"usage\":{\"total\":5}}\n"),
              "5")
        << "as soon as it has been read";
    EXPECT_EQ(events("data: {\"usage\":{\"to\ndata: tal\":6}}\n\n"), "(none)")
        << "a newline is between its lines";
    EXPECT_EQ(events("data: {\"usage\":\n\ndata: {\"total\":4}}\n\n"), "(none)")
        << "an empty line ends an event";
    EXPECT_EQ(events(" data: {\"usage\":{\"total\":1}}\n\ndata : {\"usage\":{\"total\":1}}\n\n"), "(none)");
    EXPECT_EQ(events("data:  {\"usage\":{\"total\":1}}\ndatax: {\n\n"), "1");
}

TEST(Body, OfLinesIsADocumentForEach) {
    EXPECT_EQ(read(BodyKind::lines, "{\"a\":1}\r\n{\"a\":2}\n\n{\"a\":\n{\"a\":3}", {"a"}), "3");
    EXPECT_EQ(read(BodyKind::lines, "{\"a\":1}\n{\"a\":[", {"a"}), "1");
}

TEST(Body, OfAFormHasFieldsByTheirNames) {
    const auto form = [](std::string_view body, const char* name) {
        return read(BodyKind::form, body, {name});
    };
    EXPECT_EQ(form("model=gpt-4&x=1", "model"), "gpt-4");
    EXPECT_EQ(form("x=1&m%6fdel=a+b%20c%3D=", "model"), "a b c==");
    EXPECT_EQ(form("user.name=k&user=1", "user.name"), "k");
    EXPECT_EQ(form("user[name]=k", "user[name]"), "k");
    EXPECT_EQ(form("model=1&model=2", "model"), "2");
    EXPECT_EQ(form("models=1&mode=2&=3&&", "model"), "(none)");
    EXPECT_EQ(form("*=1", "*"), "1");
    EXPECT_EQ(form("x=1", "*"), "(none)");
    EXPECT_EQ(form("model", "model"), "");
    EXPECT_EQ(form("model=", "model"), "");
    EXPECT_EQ(form("model=100%&x", "model"), "100%");
    EXPECT_EQ(form("model=%4", "model"), "%4");
    EXPECT_EQ(form("model=%4%41%zz", "model"), "%4A%zz");
    EXPECT_EQ(form("model=" + std::string(128, 'x'), "model"), std::string(128, 'x'));
    EXPECT_EQ(form("model=" + std::string(129, 'x'), "model"), "(none)");
    EXPECT_EQ(form("", "model"), "(none)");
}

TEST(Body, HasTheKindOfItsType) {
    const std::pair<const char*, BodyKind> kinds[] = {
        {"application/json", BodyKind::json},
        {"Application/JSON; charset=utf-8", BodyKind::json},
        {" application/json ;x", BodyKind::json},
        {"application/problem+json", BodyKind::json},
        {"application/vnd.api+JSON", BodyKind::json},
        {"text/event-stream;charset=UTF-8", BodyKind::events},
        {"application/x-ndjson", BodyKind::lines},
        {"application/x-www-form-urlencoded", BodyKind::form},
        {"application/+json", BodyKind::unknown},
        {"text/x+json", BodyKind::unknown},
        {"application/jsonp", BodyKind::unknown},
        {"text/plain", BodyKind::unknown},
        {"", BodyKind::unknown},
        {";", BodyKind::unknown},
    };
    for (const auto& [type, kind] : kinds) {
        EXPECT_EQ(body_kind(type), kind) << type;
    }
}

/// Returns the number of random bodies: BODIES of the environment, or a few.
std::uint64_t bodies() {
    const char* const told = std::getenv("BODIES");
    return told != nullptr ? std::strtoull(told, nullptr, 10) : 2000;
}

std::string joined(const body_model::Path& path) {
    std::string text;
    for (const std::string& step : path) {
        text += (text.empty() ? "" : ".") + step;
    }
    return text;
}

/// A random body, what is wanted of it, and what the result must be.
struct Drawn {
    explicit Drawn(Maker& maker) {
        static const std::size_t counts[] = {1, 1, 2, 5};
        kind = BodyKind(1 + maker.below(3));
        for (std::size_t i = kind == BodyKind::json ? 1 : maker.below(6); i != 0; --i) {
            documents.push_back(maker.node(maker.percent(5) ? 20 : 1 + maker.below(5)));
        }
        for (std::size_t i = counts[maker.below(4)]; i != 0; --i) {
            std::vector<body_model::Path> paths;
            std::vector<std::string> written;
            for (std::size_t j = counts[maker.below(4)]; j != 0; --j) {
                paths.push_back(maker.path());
                written.push_back(joined(paths.back()));
            }
            values.push_back(value_of(documents, paths));
            texts.push_back(std::move(written));
        }
        write(maker);
    }

    void write(Maker& maker) {
        std::vector<std::string> written;
        for (const Node& document : documents) {
            written.push_back(maker.written(document));
        }
        if (kind == BodyKind::events) {
            body = maker.events(written);
            return;
        }
        for (std::string& document : written) {
            if (kind == BodyKind::lines) {
                std::replace(document.begin(), document.end(), '\n', ' ');
                document += maker.percent(50) ? "\n" : "\r\n";
            }
            body += document;
        }
    }

    BodyKind kind;
    std::vector<Node> documents;
    std::vector<std::vector<std::string>> texts;
    Found values;
    std::string body;
};

TEST(RandomBodies, HaveTheValuesOfTheirDocuments) {
    std::uint64_t found = 0;
    for (std::uint64_t seed = 0; seed < bodies(); ++seed) {
        Maker maker(seed);
        const Drawn drawn(maker);
        const Wanted wanted(drawn.texts);
        ASSERT_EQ(wanted.read(drawn.kind, {drawn.body}), drawn.values) << "seed " << seed << "\n"
                                                                       << drawn.body;
        ASSERT_EQ(wanted.read(drawn.kind, maker.pieces(drawn.body)), drawn.values) << "seed " << seed << "\n"
                                                                                   << drawn.body;
        found += static_cast<std::uint64_t>(std::count_if(drawn.values.begin(), drawn.values.end(),
                                                          [](const auto& v) { return v != "(none)"; }));
    }
    EXPECT_GT(found, bodies() / 4) << "paths that lead nowhere try little";
}

TEST(RandomBodies, ThatAreBrokenAreReadAlikeWhereverTheyAreCut) {
    for (std::uint64_t seed = 0; seed < bodies(); ++seed) {
        Maker maker(~seed);
        Drawn drawn(maker);
        if (drawn.body.empty()) {
            continue;
        }
        for (std::size_t i = 1 + maker.below(4); i != 0; --i) {
            static constexpr std::string_view noise = "{}[]\",:\\u0e-\n\r \xef\xff\x00tn";
            drawn.body[maker.below(drawn.body.size())] = noise[maker.below(noise.size())];
        }
        drawn.kind = maker.percent(25) ? BodyKind::form : drawn.kind;
        const Wanted wanted(drawn.texts);
        const Found whole = wanted.read(drawn.kind, {drawn.body});
        ASSERT_EQ(wanted.read(drawn.kind, maker.pieces(drawn.body)), whole) << "seed " << seed << "\n"
                                                                            << drawn.body;
    }
}

}  // namespace
}  // namespace rate_limit::body_test
