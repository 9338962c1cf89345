#include "ngx/request/key_counts.h"

#include <cstdint>

#include "limiter/tallies/tallies.h"
#include "ngx/conf/late_watch.h"

namespace rate_limit {

namespace {

using MarkWord = std::uint64_t;
constexpr std::size_t bits_of_word = 64;

/// By this the marks are found on the pool's cleanup list. The request has no context that could keep them:
/// where no limit applies, it gets none.
void on_marks_cleanup(void* /*marks*/) noexcept {}

/// Marks of what has counted the request as one without a key: a bit for each line, and one for each tally
/// behind those. Null without memory.
MarkWord* marks_of(ngx_http_request_t* r) noexcept {
    for (const ngx_pool_cleanup_t* each = r->pool->cleanup; each != nullptr; each = each->next) {
        if (each->handler == on_marks_cleanup) {
            return static_cast<MarkWord*>(each->data);
        }
    }
    const MainConf& main = *main_conf(r);
    const std::size_t words = (main.line_count + main.tallies->all().size()) / bits_of_word + 1;
    ngx_pool_cleanup_t* cleanup = ngx_pool_cleanup_add(r->pool, words * sizeof(MarkWord));
    if (cleanup == nullptr) {
        return nullptr;
    }
    cleanup->handler = on_marks_cleanup;
    ngx_memzero(cleanup->data, words * sizeof(MarkWord));
    return static_cast<MarkWord*>(cleanup->data);
}

/// True if it was marked before.
bool mark(MarkWord* marks, std::size_t number) noexcept {
    if (marks == nullptr) {
        return false;
    }
    MarkWord* const word = marks + number / bits_of_word;
    const MarkWord bit = MarkWord{1} << number % bits_of_word;
    const bool before = (*word & bit) != 0;
    *word |= bit;
    return before;
}

[[gnu::noinline]] void count_no_key(ngx_http_request_t* r, const LimitLine& limit,
                                    Counters<Decided>& counters) noexcept {
    MarkWord* const marks = marks_of(r);
    if (!mark(marks, limit.watch->number())) {
        counters.miss(mark(marks, main_conf(r)->line_count + limit.tally_without_key));
    }
}

}  // namespace

void count_key(RequestContext& context, const LimitLine& limit, bool has_key) noexcept {
    if (context.conf().report) {
        return;
    }
    Counters<Decided>& counters = main_conf(context.request())->tallies->counters_without_key(limit);
    if (has_key) {
        counters.hit();
    } else {
        count_no_key(context.request(), limit, counters);
    }
}

}  // namespace rate_limit
