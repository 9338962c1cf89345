#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace rate_limit {

/// Writes a page of HTML, element by element. Names of elements and attributes are static and lower case.
/// Functions throw std::bad_alloc.
class HtmlText {
public:
    struct Attribute {
        std::string_view name;
        std::string_view value;  ///< UTF-8, written as it is but for what HTML means by some signs
    };
    using Attributes = std::initializer_list<Attribute>;

    /// Begins an element, which the matching close() ends.
    HtmlText& open(std::string_view name, Attributes attributes = {});
    HtmlText& close();

    /// An element without content and end, such as `input`.
    HtmlText& single(std::string_view name, Attributes attributes = {});

    /// An element with nothing but these words.
    HtmlText& element(std::string_view name, std::string_view words, Attributes attributes = {});

    /// UTF-8 of our own; no markup.
    HtmlText& words(std::string_view words);

    /// Bytes from anywhere, shown as readable() has them.
    HtmlText& text(std::string_view bytes);

    /// A text that is HTML already.
    HtmlText& markup(std::string_view html);

    std::string take() noexcept { return std::move(html_); }

private:
    void begin(std::string_view name, Attributes attributes);
    void escape(std::string_view text);

    std::string html_;
    std::vector<std::string_view> open_;  // names
};

}  // namespace rate_limit
