#include "operator/html/frame.h"

#include <algorithm>
#include <array>
#include <string>
#include <variant>

#include <openssl/evp.h>
#include <openssl/sha.h>

#include "core/text/figure_text.h"
#include "operator/serving.h"

namespace rate_limit {

namespace {

/// Light first, then what differs in the dark and on paper. Everything that has a colour says in words, or by
/// its pattern, what the colour says.
constexpr std::string_view style_sheet = R"css(
:root{color-scheme:light dark;
--paper:#fff;--ground:#f5f6f8;--ink:#1b2027;--soft:#59636f;--line:#d9dee4;--link:#0b5cad;
--good:#1a7f37;--good-ground:#e9f6ec;--bad:#b3261e;--bad-ground:#fdeeec;
--passed:#8fb8e0;--rejected:#c2410c;--dry:#8a6d00;--errors:#7a1fa2}
@media (prefers-color-scheme:dark){:root{
--paper:#1a1e24;--ground:#111418;--ink:#e4e8ed;--soft:#9aa5b1;--line:#323943;--link:#7db8f5;
--good:#5ecb7f;--good-ground:#15251a;--bad:#ff9a90;--bad-ground:#2f1917;
--passed:#3f6f9f;--rejected:#ff8a4c;--dry:#e0bb3c;--errors:#d08cf0}}
*{box-sizing:border-box}
body{margin:0 auto;padding:0 1rem 2rem;max-width:90rem;background:var(--ground);color:var(--ink);
font:.875rem/1.45 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
h1{margin:0;font-size:1.15rem;line-height:1.35;font-weight:650}
h2{margin:0 0 .5rem;font-size:1rem;font-weight:650}
h3{margin:1rem 0 .4rem;font-size:.875rem;font-weight:650}
h2+h3{margin-top:0}
a{color:var(--link)}
:focus-visible{outline:3px solid var(--link);outline-offset:2px;border-radius:2px}
header{margin:0 -1rem 1rem;padding:1rem 1rem .6rem;background:var(--paper);border-bottom:1px solid var(--line)}
.health{padding:.7rem 1rem;border-left:.4rem solid;border-radius:.3rem}
.good{border-color:var(--good);background:var(--good-ground)}
.bad{border-color:var(--bad);background:var(--bad-ground)}
.good h1{color:var(--good)}
.bad h1{color:var(--bad)}
.health ul{margin:.5rem 0 0;padding-left:1.2rem}
.health p{margin:.3rem 0 0}
.notes,.more,.axis,.nothing,footer{color:var(--soft)}
nav{display:flex;flex-wrap:wrap;gap:.3rem 1.2rem;margin-top:.7rem}
.refresh{margin-left:auto;color:var(--soft)}
section{margin:0 0 1rem;padding:.9rem 1rem 1rem;background:var(--paper);border:1px solid var(--line);border-radius:.4rem;min-width:0}
section>:last-child,form p:last-child{margin-bottom:0}
.wide{overflow-x:auto;margin-bottom:.9rem}
.tables{display:flex;flex-wrap:wrap;gap:0 2.5rem}
.tables .wide{flex:1 1 auto;min-width:0;max-width:100%}
table{border-collapse:collapse;min-width:100%;overflow-wrap:normal}
caption{padding:0 0 .3rem;text-align:left;color:var(--soft)}
th,td{padding:.28rem .7rem .28rem 0;text-align:left;vertical-align:top;border-top:1px solid var(--line)}
th:last-child,td:last-child{padding-right:0}
thead th{border-top:0;vertical-align:bottom;font-weight:500;color:var(--soft)}
tbody th{font-weight:600}
td.key,tbody th,td.kinds{overflow-wrap:anywhere;min-width:5rem}
tbody .n,time{white-space:nowrap}
.n{text-align:right}
.none{color:var(--soft)}
.down{padding:0 .4em;border:1px solid;border-radius:.2rem;font-weight:650;color:var(--bad)}
.up{color:var(--good)}
code{font:.8125rem ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
.tiles{display:grid;grid-template-columns:repeat(auto-fill,minmax(9rem,1fr));gap:.6rem;margin:0}
.tiles div{padding:.4rem .7rem;border:1px solid var(--line);border-radius:.3rem}
.tiles dt{color:var(--soft)}
.tiles dd{margin:0}
.tiles b{font-size:1.15rem;font-weight:650}
.tiles span{color:var(--soft)}
.tiles .none b{font-weight:400}
.patterns{position:absolute}
.passed{fill:var(--passed)}
.rejected{fill:var(--rejected)}
.dry{fill:var(--dry)}
.errors{fill:none;stroke:var(--errors);stroke-width:1.4}
.paper{fill:var(--paper)}
.edge{stroke:var(--soft)}
.grid{fill:none;stroke:var(--line)}
.legend{display:flex;flex-wrap:wrap;gap:.3rem 1.2rem;margin:0 0 .8rem;padding:0;list-style:none}
.legend svg{vertical-align:-.15em}
.charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,20rem),1fr));gap:1rem 1.5rem}
figure{margin:0;min-width:0}
figcaption h3{margin:0}
figcaption h3 span{font-weight:400;color:var(--soft)}
figcaption p{margin:0 0 .3rem;color:var(--soft)}
figure svg{display:block;width:100%;height:auto}
.axis{display:flex;justify-content:space-between;margin:.1rem 0 0;font-size:.75rem}
.meter{display:grid;gap:.2rem;margin:0 0 .8rem;max-width:40rem}
meter{width:100%;height:1.1rem}
form{margin:0}
form+form{margin-top:.8rem}
.fields{display:flex;flex-wrap:wrap;gap:.6rem 1rem;align-items:end;margin:0 0 .8rem}
label{display:grid;gap:.15rem;color:var(--soft);min-width:0}
input,select,button{font:inherit;color:var(--ink);background:var(--paper);border:1px solid var(--soft);border-radius:.25rem;padding:.3rem .5rem;max-width:100%}
button{padding:.3rem .9rem;font-weight:600;cursor:pointer}
button:hover{border-color:var(--link);color:var(--link)}
.acts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,17rem),1fr));gap:.8rem}
.acts form{margin:0;padding:.6rem .8rem;border:1px solid var(--line);border-radius:.3rem}
.acts p{margin:0 0 .5rem;color:var(--soft)}
.acts .fields{margin:0}
footer p{margin:0}
@media (max-width:30rem){body{padding:0 .6rem 1.5rem}header{margin:0 -.6rem .8rem;padding:.6rem}section{padding:.7rem .6rem}
.refresh{margin-left:0}.tiles{grid-template-columns:repeat(auto-fill,minmax(8rem,1fr))}}
@media print{:root{--paper:#fff;--ground:#fff;--ink:#000;--soft:#333;--line:#999;--good:#000;--bad:#000;--good-ground:#fff;--bad-ground:#fff;--link:#000}
nav,form{display:none}body{max-width:none;font-size:8pt}section,figure,tr{break-inside:avoid}section{border:0;padding:.5rem 0}
.wide{overflow:visible}th,td{padding-right:.3rem}.passed,.rejected,.dry,.health,meter{print-color-adjust:exact}}
)css";

bool is_plain_in_urls(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == '~';
}

void number_cell(HtmlText& html, std::uint64_t number) {
    html.element("td", grouped(number), {{"class", number == 0 ? "n none" : "n"}});
}

struct Cell {
    HtmlText& html;
    Millis now;

    void operator()(std::monostate /*none*/) const { html.element("td", "–", {{"class", "n none"}}); }
    void operator()(std::string_view text) const { html.open("td").text(text).close(); }
    void operator()(const std::string& words) const { html.element("td", words); }
    void operator()(std::uint64_t count) const { number_cell(html, count); }
    void operator()(std::int64_t number) const {
        number_cell(html, static_cast<std::uint64_t>(std::max<std::int64_t>(0, number)));
    }
    void operator()(bool is) const { html.element("td", is ? "yes" : "no"); }
    void operator()(const Moment& moment) const {
        const std::string text = moment.shown == Moment::Shown::ahead ? "in " + duration(moment.at - now)
                                 : moment.shown == Moment::Shown::ago ? duration(now - moment.at) + " ago"
                                                                      : duration(now - moment.at);
        html.open("td").element("time", text, {{"datetime", iso_time(moment.at)}}).close();
    }
};

}  // namespace

std::optional<PageView> PageView::of(std::string_view location, std::string_view query) {
    if (!query.empty() && query != "refresh=on" && query != "refresh=off") {
        return std::nullopt;
    }
    PageView view;
    view.refreshes = query != "refresh=off";
    view.below = "./";
    constexpr char digits[] = "0123456789ABCDEF";
    for (const char c : location.substr(location.rfind('/') + 1)) {
        if (is_plain_in_urls(c)) {
            view.below += c;
        } else {
            const auto byte = static_cast<unsigned char>(c);
            view.below.append({'%', digits[byte >> 4U], digits[byte & 0xfU]});
        }
    }
    return view;
}

void begin_html(HtmlText& html, const Head& head) {
    html.markup("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">");
    html.single("meta", {{"name", "viewport"}, {"content", "width=device-width, initial-scale=1"}});
    html.single("meta", {{"name", "color-scheme"}, {"content", "light dark"}});
    if (head.refreshes) {
        html.single("meta", {{"http-equiv", "refresh"}, {"content", "5"}});
    }
    html.open("title").words(head.title).words(" – rate limits");
    if (head.names_host) {
        html.words(" of ").text(serving().host);
    }
    html.close();
    html.markup("<style>").markup(style_sheet).markup("</style></head>\n<body>\n");
}

void end_html(HtmlText& html) {
    html.markup("</body></html>\n");
}

std::string_view content_security_policy() {
    static const std::string policy = [] {
        std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
        std::array<unsigned char, 4 * ((SHA256_DIGEST_LENGTH + 2) / 3) + 1> base64{};
        (void)SHA256(reinterpret_cast<const unsigned char*>(style_sheet.data()), style_sheet.size(),
                     digest.data());
        (void)EVP_EncodeBlock(base64.data(), digest.data(), digest.size());
        return std::string("default-src 'none'; style-src 'sha256-")
            .append(reinterpret_cast<const char*>(base64.data()))
            .append("'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'");
    }();
    return policy;
}

void begin_part(HtmlText& html, std::string_view id, std::string_view heading) {
    html.markup("\n").open("section", {{"id", id}, {"aria-labelledby", std::string(id) + "-heading"}});
    html.element("h2", heading, {{"id", std::string(id) + "-heading"}});
}

void say_nothing(HtmlText& html, std::string_view words) {
    html.element("p", words, {{"class", "nothing"}});
}

void say_more(HtmlText& html, std::size_t shown, std::size_t all, std::string_view noun) {
    if (shown < all) {
        html.element("p", "These are the first of " + counted(all, noun) + "; JSON has all.",
                     {{"class", "more"}});
    }
}

/// The element that scrolls can be reached by the keyboard, and has a name.
void begin_table(HtmlText& html, std::string_view id, std::string_view caption,
                 const std::vector<Heading>& headings) {
    const std::string caption_id = std::string(id) + "-caption";
    html.open("div",
              {{"class", "wide"}, {"role", "region"}, {"tabindex", "0"}, {"aria-labelledby", caption_id}});
    html.open("table", {{"id", id}}).open("caption", {{"id", caption_id}}).words(caption).close();
    html.open("thead").open("tr");
    for (const Heading& heading : headings) {
        if (heading.is_number) {
            html.element("th", heading.name, {{"scope", "col"}, {"class", "n"}});
        } else {
            html.element("th", heading.name, {{"scope", "col"}});
        }
    }
    html.close().close().open("tbody");
}

void end_table(HtmlText& html) {
    html.close().close().close();
}

void row_header(HtmlText& html, std::string_view text, std::size_t rows) {
    if (rows == 1) {
        html.open("th", {{"scope", "row"}});
    } else {
        html.open("th", {{"scope", "rowgroup"}, {"rowspan", std::to_string(rows)}});
    }
    html.text(text).close();
}

void value_cell(HtmlText& html, const Figure& value, Millis now) {
    std::visit(Cell{html, now}, value);
}

}  // namespace rate_limit
