#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/limit/window.h"
#include "limiter/kinds/kind.h"
#include "limiter/store/awaited_refund.h"
#include "limiter/store/read.h"
#include "limiter/store/store.h"
#include "limiter/tallies/tallies.h"

namespace rate_limit {

/// A window that a key may have, and how far an act has come with it.
struct AskedWindow : KeyWindow {
    Window window;  ///< told by the primary, or by this machine's memory
    Read read;
    AwaitedRefund refund;
    bool meant = false;    ///< the act is about it
    bool done = false;     ///< the act has been done to it
    bool changed = false;  ///< by the act, or it may have been

    Shard& shard() const noexcept { return place.store->at(place.route); }
};

/// One key under one limit of one store, with all windows that it may have there.
struct KeyOfLimit {
    const Tally& tally;
    std::uint64_t id = 0;  ///< the id that the console shows
    std::vector<std::unique_ptr<AskedWindow>> windows;
    bool away = false;  ///< the store did not answer: what its windows are is not known
};

}  // namespace rate_limit
