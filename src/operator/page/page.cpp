#include "operator/page/page.h"

#include <utility>

#include "core/text/figure_text.h"
#include "core/text/html_text.h"
#include "limiter/zone.h"
#include "operator/figures/all_figures.h"
#include "operator/html/frame.h"
#include "operator/page/charts.h"
#include "operator/page/health.h"
#include "operator/page/tables.h"

namespace rate_limit {

namespace {

void write_links(HtmlText& html, const PageView& view, const OperatorRights& rights) {
    html.open("nav", {{"aria-label", "Console"}});
    html.open("span").words("Rate limits of ").open("b").text(serving().host).close().close();
    if (rights.may_act) {
        html.element("a", "Look up a key", {{"href", view.below + "key"}});
    }
    html.element("a", "JSON", {{"href", view.below + "json"}});
    html.element("a", "Metrics", {{"href", view.below + "metrics"}});
    html.open("span", {{"class", "refresh"}});
    html.words(view.refreshes ? "Refreshed every 5 s: " : "Not refreshed: ");
    html.element("a", view.refreshes ? "stop" : "refresh every 5 s",
                 {{"href", view.refreshes ? "?refresh=off" : "?refresh=on"}});
    html.close().close();
}

/// Writes the footer, which says where the numbers come from.
void write_origin(HtmlText& html, const Configuration& main, Millis now) {
    const Serving by = serving();
    html.open("footer").open("p");
    html.words("As of ").element("time", utc(now), {{"datetime", iso_time(now)}});
    html.words(", of ").words(counted(static_cast<std::uint64_t>(by.workers), "worker"));
    if (main.zone != nullptr) {
        const Millis since = main.zone->since();
        html.words(", counted since ").element("time", utc(since), {{"datetime", iso_time(since)}});
        html.words(" (" + duration(now - since) + ")");
    }
    html.words(std::string(". Module ").append(by.module).append(", nginx ").append(by.nginx).append("."));
    html.close().close();
}

/// First all is gathered. Then come the head, the parts in their order, and the foot.
class Page final : public Pieces<HtmlText> {
public:
    Page(const Configuration& main, const OperatorRights& rights, PageView view)
        : rights_(rights), view_(std::move(view)), found_(main, AllFigures::For::page, rights.plain_keys) {
        view_.may_act = rights.may_act;
        found_.add_to(*this);
        add([this](HtmlText& html) { begin(html); });
        if (main.zone != nullptr) {
            add([this](HtmlText&) { add_parts(); });
        } else {
            add_end();
        }
    }

private:
    void add_parts() {
        add_limits(*this, found_);
        add([this](HtmlText& html) { write_all_running(html, found_); });
        for (const auto write : {write_top, write_overrides}) {
            add([this, write](HtmlText& html) { write(html, found_, view_); });
        }
        for (const auto write : {write_charts, write_requests}) {
            add([this, write](HtmlText& html) { write(html, found_); });
        }
        add_stores(*this, found_);
        add([this](HtmlText& html) { write_memory(html, found_); });
        add_end();
    }

    void add_end() {
        add([this](HtmlText& html) {
            html.close();
            write_origin(html, found_.main, found_.now);
            end_html(html);
        });
    }

    void begin(HtmlText& html) const {
        const Health health = health_of(found_);
        begin_html(html, {health.line, view_.refreshes});
        html.open("header");
        write_health(html, health);
        write_links(html, view_, rights_);
        html.close().open("main");
    }

    const OperatorRights& rights_;
    PageView view_;
    AllFigures found_;
};

}  // namespace

std::unique_ptr<Document> tell_page(const Configuration& main, const OperatorRights& rights, PageView view) {
    return std::make_unique<Page>(main, rights, std::move(view));
}

}  // namespace rate_limit
