#include "ngx/request/client_id.h"

#include "limiter/client_id.h"
#include "limiter/kinds/applied_limit.h"
#include "limiter/store_conf.h"
#include "limiter/tallies/tallies.h"
#include "limiter/windows/stored_key.h"
#include "limiter/zone.h"
#include "ngx/conf/conf.h"

namespace rate_limit {

namespace {

/// The store of the limit. Where none was found, the text of the variable that was to name it.
std::string_view store_name(ngx_http_request_t* r, const AppliedLimit& applied) noexcept {
    const LimitLine& limit = line_of(applied.limit);
    if (!applied.store_name.empty()) {
        return applied.store_name;
    }
    if (limit.store != nullptr) {
        return limit.store->name;
    }
    ngx_str_t name;
    if (limit.local || evaluate_value(r, *limit.store_text, name) != NGX_OK) {
        return "local";
    }
    return view(name);
}

}  // namespace

std::uint64_t client_id(ngx_http_request_t* r, const AppliedLimit& applied) noexcept {
    const MainConf& main = *main_conf(r);
    RecentIds& recent = main.tallies->recent_ids();
    const bool located = applied.zone != nullptr;
    if (const std::uint64_t known = located ? recent.find(applied.id) : 0; known != 0) {
        return known;
    }
    const std::string_view store = store_name(r, applied);
    std::string_view key = applied.stored_key;
    StoredKey stored;
    if (key.empty()) {
        (void)stored.take(find_store(main, store), applied.client_key);
        key = stored.text();
    }
    const std::uint64_t id = client_id(*main.zone, store, applied.limit.name, key);
    if (located) {
        recent.keep(applied.id, id);
    }
    return id;
}

}  // namespace rate_limit
