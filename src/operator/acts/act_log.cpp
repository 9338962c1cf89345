#include "operator/acts/act_log.h"

#include <string>

#include "core/log_text.h"
#include "operator/acts/acting.h"
#include "operator/figures/id_text.h"

namespace rate_limit {

namespace {

/// Bytes of a key, or of a user's name, in a line.
constexpr std::size_t most_shown = 256;

}  // namespace

void log_act(const Acting& acting, std::string_view limit, std::string_view store, std::uint64_t id,
             std::string_view what) noexcept {
    std::string key;
    std::string by;
    try {
        if (id != 0) {
            key.append(", id ").append(IdText(id).view());
        }
        key += id != 0 && acting.rights().plain_keys ? ", key \"" + log_text(acting.key(), most_shown) + "\""
                                                     : "";
        const std::string_view user = acting.poster().user();
        by = user.empty() ? "" : " of user \"" + log_text(user, most_shown) + "\"";
    } catch (...) {
        key.clear();
        by.clear();
    }
    const auto length = [](std::string_view shown) { return static_cast<int>(shown.size()); };
    log_line(acting.poster().log(), LogLevel::notice,
             "rate limit \"%.*s\" of \"%.*s\"%s: %.*s, by the console%s", length(limit), limit.data(),
             length(store), store.data(), key.c_str(), length(what), what.data(), by.c_str());
}

}  // namespace rate_limit
