#include "core/text/html_text.h"

#include <gtest/gtest.h>

namespace rate_limit::html_text_test {
namespace {

std::string text_of(std::string_view bytes) {
    return HtmlText().text(bytes).take();
}

TEST(HtmlText, NestsElements) {
    HtmlText html;
    html.open("p", {{"class", "a"}}).words("x").element("b", "y").single("br").words("z").close();
    EXPECT_EQ(html.take(), R"(<p class="a">x<b>y</b><br>z</p>)");
}

TEST(HtmlText, EscapesWordsAndAttributes) {
    EXPECT_EQ(HtmlText().words(R"(a<b> & "c" 'd' 80%)").take(),
              "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39; 80%");
    EXPECT_EQ(HtmlText().single("i", {{"t", R"(<">&')"}}).take(), R"(<i t="&lt;&quot;&gt;&amp;&#39;">)");
    EXPECT_EQ(HtmlText().words("").take(), "");
    EXPECT_EQ(HtmlText().words("&&").take(), "&amp;&amp;");
}

TEST(HtmlText, ShowsForeignBytesReadably) {
    using namespace std::string_view_literals;
    EXPECT_EQ(text_of("a\"\\<\n\0\xff%\xc3\xa9"sv), "a&quot;\\&lt;%0A%00%FF%25\xc3\xa9");
    EXPECT_EQ(text_of("</script><!--]]>"), "&lt;/script&gt;&lt;!--]]&gt;");
    EXPECT_EQ(text_of("plain"), "plain");
}

TEST(HtmlText, TakesMarkupAsItIs) {
    EXPECT_EQ(HtmlText().markup("<hr>").take(), "<hr>");
}

}  // namespace
}  // namespace rate_limit::html_text_test
