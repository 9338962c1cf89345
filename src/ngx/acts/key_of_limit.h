#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/limit/rate.h"
#include "core/limit/window.h"
#include "ngx/store/awaited_refund.h"
#include "ngx/store/read.h"
#include "ngx/store/store.h"
#include "ngx/store/window_place.h"
#include "ngx/tallies/tallies.h"

namespace rate_limit {

/// A window that a key may have.
struct AskedWindow {
    Rate rate;  ///< the greatest limit of the period
    WindowKind kind = WindowKind::first;
    WindowPlace place;
    Window window;  ///< as the primary, or this machine's memory, says
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
    std::uint64_t id = 0;  ///< as the console shows it
    std::vector<std::unique_ptr<AskedWindow>> windows;
    bool away = false;  ///< the store did not answer: what its windows are is not known
};

}  // namespace rate_limit
