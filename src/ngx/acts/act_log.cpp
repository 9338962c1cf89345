#include "ngx/acts/act_log.h"

#include <string>

#include "core/log_text.h"
#include "ngx/acts/acting.h"
#include "ngx/figures/id_text.h"

namespace rate_limit {

namespace {

/// Bytes of a key, or of a user's name, in a line.
constexpr std::size_t most_shown = 256;

}  // namespace

void log_act(const Acting& acting, std::string_view limit, std::string_view store, std::uint64_t id,
             std::string_view what) noexcept {
    ngx_http_request_t& r = acting.request();
    const ngx_str_t name = str(limit);
    const ngx_str_t of = str(store);
    const ngx_str_t text = str(what);
    std::string key;
    std::string by;
    try {
        if (id != 0) {
            key.append(", id ").append(IdText(id).view());
        }
        key += id != 0 && acting.console().plain_keys ? ", key \"" + log_text(acting.key(), most_shown) + "\""
                                                      : "";
        const std::string_view user = view(r.headers_in.user);
        by = user.empty() ? "" : " of user \"" + log_text(user, most_shown) + "\"";
    } catch (...) {
        key.clear();
        by.clear();
    }
    const ngx_str_t with_key = str(key);
    const ngx_str_t by_user = str(by);
    ngx_log_error(NGX_LOG_NOTICE, r.connection->log, 0, "rate limit \"%V\" of \"%V\"%V: %V, by the console%V",
                  &name, &of, &with_key, &text, &by_user);
}

}  // namespace rate_limit
