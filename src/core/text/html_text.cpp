#include "core/text/html_text.h"

#include "core/text/readable.h"

namespace rate_limit {

void HtmlText::escape(std::string_view text) {
    constexpr std::string_view special = "&<>\"'";
    for (std::size_t at = text.find_first_of(special); at != std::string_view::npos;
         at = text.find_first_of(special)) {
        html_.append(text.substr(0, at));
        switch (text[at]) {
            case '&':
                html_ += "&amp;";
                break;
            case '<':
                html_ += "&lt;";
                break;
            case '>':
                html_ += "&gt;";
                break;
            case '"':
                html_ += "&quot;";
                break;
            default:
                html_ += "&#39;";
                break;
        }
        text.remove_prefix(at + 1);
    }
    html_.append(text);
}

void HtmlText::begin(std::string_view name, Attributes attributes) {
    html_ += '<';
    html_.append(name);
    for (const Attribute& attribute : attributes) {
        html_ += ' ';
        html_.append(attribute.name).append("=\"");
        escape(attribute.value);
        html_ += '"';
    }
    html_ += '>';
}

HtmlText& HtmlText::open(std::string_view name, Attributes attributes) {
    begin(name, attributes);
    open_.push_back(name);
    return *this;
}

HtmlText& HtmlText::close() {
    html_.append("</").append(open_.back()).append(">");
    open_.pop_back();
    return *this;
}

HtmlText& HtmlText::single(std::string_view name, Attributes attributes) {
    begin(name, attributes);
    return *this;
}

HtmlText& HtmlText::element(std::string_view name, std::string_view words, Attributes attributes) {
    return open(name, attributes).words(words).close();
}

HtmlText& HtmlText::words(std::string_view words) {
    escape(words);
    return *this;
}

HtmlText& HtmlText::text(std::string_view bytes) {
    escape(readable(bytes));
    return *this;
}

HtmlText& HtmlText::markup(std::string_view html) {
    html_.append(html);
    return *this;
}

}  // namespace rate_limit
