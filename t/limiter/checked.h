#pragma once

#include <string>

#include "t/limiter/scenario.h"

namespace rate_limit::world {

/// The words of a server, before Redis 7 and since, where the patterns of the user leave out a key.
inline constexpr const char* key_refusals[] = {
    "NOPERM this user has no permissions to access one of the keys used as arguments",
    "NOPERM No permissions to access a key",
};

/// The request's outcome, and what each of its limits knows to be used of its window: `PASSED 7`,
/// `ERROR_ALLOWED`.
inline std::string shown(const ClientRequest& request) {
    std::string text = outcome(request);
    for (std::size_t i = 0; i < request.count(); ++i) {
        if (request.verdicts()[i].known) {
            text += ' ' + std::to_string(request.quota(i).used);
        }
    }
    return text;
}

/// The header fields when its response, if it has one, is exempt, so that nothing is charged.
inline std::string shown_exempt(ClientRequest& request) {
    if (request.is_admitted() && !request.is_over()) {
        request.end(true);
    }
    return shown(request);
}

/// One such request.
inline std::string check(Scenario& world, const RequestSetup& request) {
    ClientRequest& checked = world.begin(request);
    world.until([&checked] { return checked.is_decided(); });
    return shown_exempt(checked);
}

}  // namespace rate_limit::world
