#include "limiter/overrides/effect.h"

#include <new>

#include "limiter/client_id.h"
#include "limiter/tallies/tallies.h"
#include "limiter/zone.h"

namespace rate_limit {

KnownOverrides::Effect effect_of(const Configuration& main, const Limit& limit, std::string_view store,
                                 const StoredKey& key) noexcept {
    const Millis now = now_millis();
    KnownOverrides& known = *main.overrides;
    known.renew(now);
    const Tally* tally = main.tallies->find(limit, store);
    KnownOverrides::Effect effect;
    if (tally == nullptr) {
        return effect;
    }
    if (known.has_keys()) {
        const std::uint64_t id = client_id(*main.zone, store, limit.name, key.text());
        effect = known.of({tally->digest, id}, now);
    }
    return effect.kind == OverrideKind::none && known.has_limits() ? known.of({tally->digest, 0}, now)
                                                                   : effect;
}

bool make_overrides(Configuration& main) noexcept {
    main.overrides = new (std::nothrow) KnownOverrides(main.zone->overrides());
    main.zone->overrides().keep_texts(main.plain_keys);
    return main.overrides != nullptr;
}

}  // namespace rate_limit
