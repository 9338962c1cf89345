#include "ngx/request/key_counts.h"

#include "ngx/tallies/tallies.h"

namespace rate_limit {

namespace {

/// Marks the line of a limit on the pool's cleanup list. The request has no context that could: where no
/// limit applies, it gets none.
void mark(void* /*limit*/) noexcept {}

/// What was counted of this request before.
struct Before {
    bool line = false;   // the same line
    bool tally = false;  // a line whose requests count together with it
};

Before counted_before(const ngx_http_request_t* r, const Limit& limit) noexcept {
    Before before;
    for (const ngx_pool_cleanup_t* each = r->pool->cleanup; each != nullptr; each = each->next) {
        if (each->handler == mark) {
            const auto& other = *static_cast<const Limit*>(each->data);
            before.line = before.line || other.written == limit.written;
            before.tally = before.tally || other.tally_without_key == limit.tally_without_key;
        }
    }
    return before;
}

[[gnu::noinline]] void count_no_key(ngx_http_request_t* r, const Limit& limit,
                                    Counters<Decided>& counters) noexcept {
    const Before before = counted_before(r, limit);
    if (before.line) {
        return;
    }
    counters.miss(before.tally);
    ngx_pool_cleanup_t* cleanup = ngx_pool_cleanup_add(r->pool, 0);
    if (cleanup != nullptr) {
        cleanup->handler = mark;
        cleanup->data = const_cast<Limit*>(&limit);
    }
}

}  // namespace

void count_key(RequestContext& context, const Limit& limit, bool has_key) noexcept {
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
