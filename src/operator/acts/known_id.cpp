#include "operator/acts/known_id.h"

#include <algorithm>

#include "limiter/loop.h"
#include "limiter/zone.h"
#include "operator/figures/words.h"

namespace rate_limit {

std::uint64_t parse_id(std::string_view text) noexcept {
    std::uint64_t id = 0;
    for (const char c : text) {
        const std::size_t digit = std::string_view("0123456789abcdef").find(c);
        if (digit == std::string_view::npos) {
            return 0;
        }
        id = id << 4U | digit;
    }
    return text.size() == 2 * sizeof(id) ? id : 0;
}

std::optional<KnownId> find_id(const Configuration& main, std::uint64_t id) {
    if (main.tallies == nullptr || id == 0) {
        return std::nullopt;
    }
    std::uint64_t limit = main.zone->looked_up().limit_of(id);
    std::string key;
    for (const Override& what : main.zone->overrides().read(now_millis())) {
        if (what.subject.key == id) {
            limit = what.subject.limit;
            key = what.text.is_cut() ? std::string_view() : std::string_view(what.text);
        }
    }
    for (const Offenders::Offender& offender : main.zone->offenders().read(now_millis()).keys) {
        if (offender.id == id) {
            limit = offender.limit;
            key = offender.cut || offender.key.empty() ? key : offender.key;
        }
    }
    const auto& all = main.tallies->all();
    const auto tally =
        std::find_if(all.begin(), all.end(), [limit](const Tally& one) { return one.digest == limit; });
    return tally != all.end() ? std::optional(KnownId{&*tally, std::move(key)}) : std::nullopt;
}

}  // namespace rate_limit
