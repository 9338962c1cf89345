#include "ngx/request/client_id.h"

#include "core/append.h"
#include "ngx/base/captures.h"
#include "ngx/base/zone.h"
#include "ngx/conf/redis_conf.h"
#include "ngx/modes/applied_limit.h"

namespace rate_limit {

namespace {

/// The store of the limit. Where none was found, the text of the variable that was to name it.
std::string_view store_name(ngx_http_request_t* r, const AppliedLimit& applied) noexcept {
    if (applied.store != nullptr) {
        return applied.shard().store_name();
    }
    const Limit& limit = applied.limit;
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
    constexpr std::string_view separator("\0", 1);
    const std::string_view store = store_name(r, applied);
    const std::string_view name = view(applied.limit.name);
    const std::size_t room = store.size() + name.size() + applied.client_key.size() + 3 * separator.size();
    auto* text = static_cast<char*>(ngx_pnalloc(r->pool, room));
    if (text == nullptr) {
        return 0;
    }
    // No window's identity begins with this separator, so the id does not tell where the client's window lies
    // in the table.
    char* end = append(append(append(text, separator), store), separator);
    end = append(append(append(end, name), separator), applied.client_key);
    return main_conf(r)->zone->windows().id_of({text, static_cast<std::size_t>(end - text)}).high;
}

}  // namespace rate_limit
