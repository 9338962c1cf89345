#include "core/text/form.h"

#include <string>

#include <gtest/gtest.h>

namespace rate_limit::form_test {
namespace {

std::string value(const Form& form, std::string_view name) {
    const std::string* found = form.find(name);
    return found != nullptr ? *found : "(none)";
}

TEST(Form, HasFieldsAsTheyWereTyped) {
    Form form;
    ASSERT_EQ(form.parse("key=a+b%26c%3D&limit=core&do="), Form::Error::none);
    EXPECT_EQ(value(form, "key"), "a b&c=");
    EXPECT_EQ(value(form, "limit"), "core");
    EXPECT_EQ(value(form, "do"), "(none)") << "an empty field is none";
    EXPECT_EQ(value(form, "store"), "(none)");
    EXPECT_EQ(form.fields().size(), 3U);
    ASSERT_EQ(form.parse("&&a=b=c&%6Bey=1&d"), Form::Error::none);
    EXPECT_EQ(value(form, "a"), "b=c");
    EXPECT_EQ(value(form, "key"), "1") << "names are encoded, too";
    EXPECT_EQ(value(form, "limit"), "(none)") << "of the form before";
    ASSERT_EQ(form.parse(""), Form::Error::none);
    EXPECT_TRUE(form.fields().empty());
}

TEST(Form, TakesEveryByte) {
    std::string body = "key=";
    std::string all;
    for (int byte = 0; byte < 256; ++byte) {
        constexpr std::string_view digits = "0123456789aBcDeF";
        body +=
            {'%', digits[static_cast<std::size_t>(byte / 16)], digits[static_cast<std::size_t>(byte % 16)]};
        all += static_cast<char>(byte);
    }
    Form form;
    ASSERT_EQ(form.parse(body), Form::Error::none);
    EXPECT_EQ(value(form, "key"), all);
    const std::string raw("key=\0\xff", 6);
    ASSERT_EQ(form.parse(raw), Form::Error::none);
    EXPECT_EQ(value(form, "key"), raw.substr(4));
}

TEST(Form, RefusesWhatIsNone) {
    Form form;
    for (const char* body : {"a=%", "a=%4", "a=%4g", "a=%g4", "%=a", "b=1&a=%zz", "a=%4&b=1"}) {
        EXPECT_EQ(form.parse(body), Form::Error::escape) << body;
        EXPECT_TRUE(form.fields().empty()) << body;
    }
    EXPECT_EQ(form.parse("a=1&b=2&a=1"), Form::Error::twice);
    EXPECT_EQ(form.parse("a=1&%61=1"), Form::Error::twice);
}

TEST(Form, HasFewFields) {
    std::string body;
    for (std::size_t field = 0; field < Form::most_fields; ++field) {
        body += "&f" + std::to_string(field) + "=1";
    }
    Form form;
    EXPECT_EQ(form.parse(body), Form::Error::none);
    EXPECT_EQ(form.fields().size(), Form::most_fields);
    EXPECT_EQ(form.parse(body + "&"), Form::Error::none);
    EXPECT_EQ(form.parse(body + "&g"), Form::Error::many);
    EXPECT_TRUE(form.fields().empty());
}

TEST(ShownKey, IsReadBack) {
    EXPECT_EQ(shown_key("a%25b%FF%00c"), std::string("a%b\xff\0c", 6));
    for (const char* text : {"plain", "100%", "%", "%4", "%zz", "a%4g"}) {
        EXPECT_EQ(shown_key(text), text);
    }
    EXPECT_EQ(shown_key("%2525"), "%25");
}

}  // namespace
}  // namespace rate_limit::form_test
