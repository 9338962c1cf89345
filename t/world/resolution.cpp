#include "limiter/wire/connection/addresses.h"

#include <memory>
#include <string>
#include <utility>

#include "t/world/loop.h"
#include "t/world/network.h"

namespace rate_limit {

/// A question on its way to the world's only name server.
struct Resolution::Question {
    world::Events::Place place;
};

bool Resolution::ask(const StoreConf& store, const std::string& host) noexcept {
    if (!store.resolves_again) {
        return false;
    }
    world::Loop& loop = world::Loop::current();
    question_ = std::make_unique<Question>().release();
    question_->place = loop.events().in(world::Network::current().name_server, [this, &loop, host] {
        delete std::exchange(question_, nullptr);
        const std::string* const address = world::Network::find_host(host);
        const Address found = address != nullptr ? world::address_of(*address + ":1") : Address{};
        loop.turn([&] { owner_.on_resolved(&found, address != nullptr ? 1 : 0); });
    });
    return true;
}

void Resolution::stop() noexcept {
    if (asking()) {
        world::Loop::current().events().cancel(question_->place);
        delete std::exchange(question_, nullptr);
    }
}

}  // namespace rate_limit
