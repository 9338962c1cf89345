#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "limiter/limit.h"
#include "limiter/store_conf.h"

namespace rate_limit {

class KnownOverrides;
class Tallies;
class Zone;

/// How a request goes on when a limit cannot be checked.
enum class OnError : unsigned char { allow, deny, local };

/// All that one configuration says to the limiter. Owned by whoever reads it, and outlives what a worker
/// makes of it.
struct Configuration {
    std::vector<StoreConf*> stores;    // in the order of their blocks
    std::vector<const Limit*> limits;  // every limit of every place where it is in effect

    Zone* zone = nullptr;                 // null: nothing is limited
    Tallies* tallies = nullptr;           // null: nothing is limited; see make_tallies()
    KnownOverrides* overrides = nullptr;  // null: nothing is limited; see make_overrides()
    bool plain_keys = false;              // operators are shown keys as they are
};

/// The configuration that this process serves requests by; null: there is none. Whoever runs the limiter
/// defines it.
const Configuration* configuration_at_work() noexcept;

/// The store of that name, or null.
inline StoreConf* find_store(const Configuration& configuration, std::string_view name) noexcept {
    const auto found = std::find_if(configuration.stores.begin(), configuration.stores.end(),
                                    [name](const StoreConf* store) { return store->name == name; });
    return found != configuration.stores.end() ? *found : nullptr;
}

}  // namespace rate_limit
