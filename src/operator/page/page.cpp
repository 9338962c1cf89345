#include "operator/page/page.h"

#include <utility>

#include "core/text/figure_text.h"
#include "core/text/html_text.h"
#include "limiter/zone.h"
#include "operator/html/frame.h"
#include "operator/page/charts.h"
#include "operator/page/gathered.h"
#include "operator/page/health.h"
#include "operator/page/limits_html.h"
#include "operator/page/memory_html.h"
#include "operator/page/overrides_html.h"
#include "operator/page/pieces.h"
#include "operator/page/stores_html.h"
#include "operator/page/top_html.h"
#include "operator/serving.h"

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

/// First all is gathered. Then come the pieces: the head, the parts in their order, and the foot.
class Page final : public Document {
public:
    Page(const Configuration& main, const OperatorRights& rights, PageView view)
        : rights_(rights), view_(std::move(view)), found_(main, now_millis()) {}

    bool write_more() override {
        if (!gathered_) {
            gathered_ = !found_.gather_more();
            return true;
        }
        if (pieces_.empty()) {
            add_pieces();
            return true;
        }
        pieces_[next_++](html_);
        return next_ < pieces_.size();
    }

    std::string take() override { return html_.take(); }

private:
    void add_pieces() {
        pieces_.emplace_back([this](HtmlText&) { begin(); });
        if (found_.main.zone != nullptr) {
            add_parts();
        }
        pieces_.emplace_back([this](HtmlText& html) {
            html.close();
            write_origin(html, found_.main, found_.now);
            end_html(html);
        });
    }

    void add_parts() {
        pieces_.emplace_back([this](HtmlText& html) { write_requests(html, found_); });
        add_limits(pieces_, found_);
        pieces_.emplace_back([this](HtmlText& html) { write_all_running(html, found_); });
        pieces_.emplace_back([this](HtmlText& html) { write_charts(html, found_); });
        pieces_.emplace_back([this](HtmlText& html) { write_top(html, found_, rights_); });
        pieces_.emplace_back([this](HtmlText& html) { write_overrides(html, found_, rights_); });
        add_stores(pieces_, found_);
        pieces_.emplace_back([this](HtmlText& html) { write_memory(html, found_); });
    }

    void begin() {
        const Health health = health_of(found_);
        begin_html(html_, {health.line, view_.refreshes});
        html_.open("header");
        write_health(html_, health);
        write_links(html_, view_, rights_);
        html_.close().open("main");
    }

    const OperatorRights& rights_;
    const PageView view_;
    Gathered found_;
    HtmlText html_;
    bool gathered_ = false;
    Pieces pieces_;
    std::size_t next_ = 0;  // the next of pieces_
};

}  // namespace

std::unique_ptr<Document> tell_page(const Configuration& main, const OperatorRights& rights, PageView view) {
    return std::make_unique<Page>(main, rights, std::move(view));
}

}  // namespace rate_limit
