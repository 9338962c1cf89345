#include "t/worlds/sentinels.h"

#include "t/world/chance.h"

namespace rate_limit::world {

Sentinels::Sentinels(Events& events, Network& network, const std::vector<std::string>& addresses)
    : events_(events) {
    for (const std::string& address : addresses) {
        all_.push_back(std::make_unique<Sentinel>(network, address));
    }
}

std::vector<Sentinel*> Sentinels::of_region(std::size_t region, std::size_t regions) const {
    std::vector<Sentinel*> sentinels;
    for (std::size_t i = region; i < all_.size(); i += regions) {
        sentinels.push_back(all_[i].get());
    }
    return sentinels;
}

void Sentinels::lose_one(MasterWatch& watch, std::uint64_t bits) {
    Sentinel& sentinel = *watch.sentinels()[bits % watch.sentinels().size()];
    switch (bits / 8 % 5) {
        case 0:
            sentinel.kill();
            break;
        case 1:
            sentinel.link().silent = true;
            break;
        case 2:
            sentinel.link().jitter_back = 20'000;
            sentinel.link().piece = 5;
            break;
        case 3:
            sentinel.forget(watch.name());
            break;
        default:
            deaf_.insert(&sentinel);
            break;
    }
}

void Sentinels::tell(MasterWatch& watch, std::uint64_t bits) {
    Chance chance(bits);
    for (Sentinel* sentinel : watch.sentinels()) {
        const Micros later = chance.percent(60) ? chance.below(50'000) : chance.below(2 * second);
        events_.in(later, [this, &watch, sentinel] {
            if (deaf_.count(sentinel) == 0) {
                watch.tell(*sentinel);
            }
        });
    }
}

void Sentinels::heal() {
    for (const auto& sentinel : all_) {
        sentinel->link() = Link{};
        sentinel->start();
    }
    deaf_.clear();
}

}  // namespace rate_limit::world
