#include "ngx/overrides/effect.h"

#include <new>

#include "limiter/client_id.h"
#include "limiter/zone.h"
#include "ngx/tallies/tallies.h"

namespace rate_limit {

KnownOverrides::Effect effect_of(const MainConf& main, const Limit& limit, std::string_view store,
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
        const std::uint64_t id = client_id(*main.zone, store, view(limit.name), key.text());
        effect = known.of({tally->digest, id}, now);
    }
    return effect.kind == OverrideKind::none && known.has_limits() ? known.of({tally->digest, 0}, now)
                                                                   : effect;
}

ngx_int_t make_overrides(ngx_cycle_t* cycle, MainConf& main) noexcept {
    ngx_pool_cleanup_t* cleanup = ngx_pool_cleanup_add(cycle->pool, 0);
    main.overrides = cleanup != nullptr ? new (std::nothrow) KnownOverrides(main.zone->overrides()) : nullptr;
    if (main.overrides == nullptr) {
        return NGX_ERROR;
    }
    cleanup->data = main.overrides;
    cleanup->handler = [](void* overrides) noexcept { delete static_cast<KnownOverrides*>(overrides); };
    main.zone->overrides().keep_texts(main.plain_keys);
    return NGX_OK;
}

}  // namespace rate_limit
