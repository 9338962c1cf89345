#include "ngx/store/report.h"

#include "ngx/conf/redis_conf.h"
#include "ngx/store/store.h"
#include "redis/answer.h"

namespace rate_limit {

namespace {

constexpr ngx_msec_t interval = 60'000;

/// A log line under construction; what does not fit is left out.
class Line {
public:
    template <typename... Arguments>
    void add(const char* format, Arguments... arguments) noexcept {
        end_ = ngx_slprintf(end_, text_ + sizeof text_, format, arguments...);
    }
    ngx_str_t text() noexcept { return {static_cast<std::size_t>(end_ - text_), text_}; }

private:
    u_char text_[NGX_MAX_ERROR_STR - 200];  // nginx adds the time, the level and the process
    u_char* end_ = text_;
};

void add_node(Line& line, const Node& node) noexcept {
    const Node::Errors& errors = node.errors();
    const char* separator = ": ";
    const auto count = [&](const char* kind, std::uint64_t number) {
        if (number == 0) {
            return;
        }
        if (*separator == ':') {
            line.add("; %s %s", node.is_primary() ? "primary" : "replica", node.name());
        }
        line.add("%s%s %uL", separator, kind, number);
        separator = ", ";
    };
    count("connection", errors.connection);
    count("silent", errors.silent);
    for (std::size_t fault = 0; fault < fault_count; ++fault) {
        count(to_string(static_cast<Fault>(fault)).data(), errors.answers[fault]);
    }
}

}  // namespace

Report::Report(const Store& store) noexcept : store_(store) {
    timer_.data = this;
    timer_.handler = on_timer;
    timer_.log = ngx_cycle->log;
    timer_.cancelable = 1;
}

void Report::changed() noexcept {
    if (!timer_.timer_set) {
        set_timer(timer_, interval);
    }
}

void Report::on_timer(ngx_event_t* event) noexcept {
    const Store& store = static_cast<Report*>(event->data)->store_;
    std::size_t waiting = 0;
    std::uint64_t dropped = 0;
    std::uint64_t in_doubt = 0;
    std::uint64_t refunds = 0;
    std::uint64_t reservations = 0;
    for (const auto& shard : store.shards()) {
        waiting += shard->charges().waiting();
        const Losses& lost = shard->charges().lost();
        dropped += lost.dropped();
        in_doubt += lost.of(Loss::charges_in_doubt);
        refunds += lost.of(Loss::refunds_in_doubt);
        reservations += lost.of(Loss::reservations_in_doubt);
    }
    Line line;
    line.add("charges of %uz windows waiting, %uL dropped, %uL in doubt", waiting, dropped, in_doubt);
    if (refunds != 0 || reservations != 0) {
        line.add("; in doubt: %uL refunds, %uL reservations", refunds, reservations);
    }
    for (const auto& shard : store.shards()) {
        add_node(line, shard->primary());
        for (const auto& replica : shard->nodes().replicas()) {
            add_node(line, *replica);
        }
    }
    const ngx_str_t text = line.text();
    ngx_log_error(NGX_LOG_NOTICE, ngx_cycle->log, 0,
                  "rate limit: counters of \"%s\" since this worker started: %V", store.conf().name.c_str(),
                  &text);
}

}  // namespace rate_limit
