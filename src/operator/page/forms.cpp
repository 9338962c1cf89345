#include "operator/page/forms.h"

#include "operator/figures/words.h"

namespace rate_limit {

void begin_form(HtmlText& html, const PageView& view) {
    html.open("form", {{"method", "post"}, {"action", view.below + "key"}});
}

void write_hidden(HtmlText& html, std::string_view name, std::string_view value) {
    html.single("input", {{"type", "hidden"}, {"name", name}, {"value", value}});
}

bool shares_overrides(const Configuration& main, std::string_view store) noexcept {
    const StoreConf* found = find_store(main, store);
    return found != nullptr && found->shares_overrides;
}

/// Without the key, machines cannot tell one another of it: the act is of this machine alone.
void write_row_acts(HtmlText& html, const Configuration& main, const PageView& view, const RowSubject& of) {
    const std::string id = id_text(of.id);
    const auto button = [&](std::string_view act, std::string_view words) {
        const std::string name = std::string(words).append(of.id != 0 ? " id " + id : " the override");
        html.words(" ").element("button", words, {{"name", "do"}, {"value", act}, {"aria-label", name}});
    };
    const bool is_alone = of.has_override ? of.is_of_machine : of.id != 0 && !of.has_key;
    html.open("td");
    begin_form(html, view);
    write_hidden(html, "limit", of.limit->name);
    write_hidden(html, "store", of.limit->store_name);
    if (is_alone && shares_overrides(main, of.limit->store_name)) {
        write_hidden(html, "on", "machine");
    }
    if (of.id != 0) {
        write_hidden(html, "id", id);
        button("", "Look up");
    }
    if (of.has_override) {
        button("clear", "Clear");
    } else {
        button("ban", "Ban");
        button("allow", "Allow");
    }
    if (of.has_key) {
        button("reset", "Reset");
    }
    html.close().close();
}

}  // namespace rate_limit
