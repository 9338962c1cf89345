#include "limiter/charges/losses.h"

#include <cinttypes>

namespace rate_limit {

namespace {

struct Words {
    const char* what;
    const char* verdict;
    const char* so_far;
    LogLevel level = LogLevel::error;
};

/// In the order of Loss.
constexpr Words words[loss_count] = {
    {"charges", "expired: their windows had closed, or their buckets were full, before the primary took them",
     "expired", LogLevel::warn},
    {"charges", "were dropped: no room in \"rate_limit_zone\" for what waits for the primary; enlarge it",
     "dropped"},
    {"refunds",
     "were dropped: no room in \"rate_limit_zone\"; they count as used until their windows end; enlarge it",
     "dropped"},
    {"charges", "were dropped: no memory", "dropped"},
    {"charges", "were dropped: ", "dropped"},
    {"charges", "were sent and not answered: they are in doubt and not sent again", "in doubt"},
    {"refunds", "were sent and not answered: they are in doubt and not sent again", "in doubt"},
    {"reservations",
     "were sent and not answered: they are in doubt, clients may have been charged for nothing", "in doubt"},
    {"charges, refunds and reservations",
     "were answered by a server that was not the primary any more: they are in doubt", "answered so"},
    {"windows",
     "were others than a former primary had confirmed: what had been charged to those is perhaps lost",
     "replaced"},
};

constexpr bool is_drop(std::size_t loss) noexcept {
    return loss > static_cast<std::size_t>(Loss::expired) && loss <= static_cast<std::size_t>(Loss::refused);
}

}  // namespace

std::uint64_t dropped(const Counters<Loss>& counters) noexcept {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < loss_count; ++i) {
        sum += is_drop(i) ? counters.count(static_cast<Loss>(i)) : 0;
    }
    return sum;
}

Losses::Losses(const std::string& subject, const Counters<Loss>& counters) noexcept
    : subject_(subject), counters_(counters) {
    for (std::size_t i = 0; i < loss_count; ++i) {
        lines_[i].owner = this;
        lines_[i].loss = static_cast<Loss>(i);
    }
}

void Losses::add(Loss loss, std::uint64_t charges, const char* why) noexcept {
    Line& line = lines_[static_cast<std::size_t>(loss)];
    line.untold += charges;
    counters_.add(loss, charges);
    line.why = why;
    line.throttle.tell(process_log());
}

void Losses::Line::write(void* self, Log& log) noexcept {
    Line& line = *static_cast<Line*>(self);
    const auto loss = static_cast<std::size_t>(line.loss);
    const Words& said = words[loss];
    const Counters<Loss>& counters = line.owner->counters_;
    log_line(log, said.level, "rate limit: %" PRIu64 " %s for %s %s%s (%" PRIu64 " %s so far)", line.untold,
             said.what, line.owner->subject_.c_str(), said.verdict, line.why != nullptr ? line.why : "",
             is_drop(loss) ? dropped(counters) : counters.count(line.loss), said.so_far);
    line.untold = 0;
}

}  // namespace rate_limit
