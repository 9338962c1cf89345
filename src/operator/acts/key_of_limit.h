#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/bucket/bucket_account.h"
#include "core/limit/rate.h"
#include "core/limit/window.h"
#include "limiter/store/awaited_refund.h"
#include "limiter/store/read.h"
#include "limiter/store/store.h"
#include "limiter/tallies/tallies.h"
#include "limiter/windows/window_place.h"

namespace rate_limit {

/// A window that a key may have.
struct AskedWindow {
    Rate rate;                     ///< the greatest limit of the period
    std::optional<Bucket> bucket;  ///< empty: it is a window
    WindowKind kind = WindowKind::first;
    WindowPlace place;
    Window window;  ///< told by the primary, or by this machine's memory
    Read read;
    AwaitedRefund refund;
    bool meant = false;    ///< the act is about it
    bool done = false;     ///< the act has been done to it
    bool changed = false;  ///< by the act, or it may have been

    bool is_slots() const noexcept { return kind == WindowKind::slots; }

    Shard& shard() const noexcept { return place.store->at(place.route); }

    Window of(const BucketRecord& record, Millis now) const noexcept {
        return {shown_of(record, *bucket, now).used, record.reset};
    }

    /// The window that a record of this machine shows.
    Window of(const Record& record, Millis now) const noexcept {
        return bucket ? of(record.as<BucketRecord>(), now)
                      : Window{record.as<WindowRecord>().used, record.reset};
    }

    /// The window that an answer of its store shows.
    Window shown(const Window& answer, Millis now) const noexcept {
        if (!bucket) {
            return answer;
        }
        BucketRecord told;
        learn_bucket(told, bucket->fill(), now, answer.used);
        return of(told, now);
    }

    ReadAs read_as() const noexcept { return {kind, bucket ? bucket->fill() : 0}; }

    GivingBack giving_back(std::int64_t cost, Millis reset) const noexcept {
        return {place.id, rate, kind, cost, reset, bucket ? bucket->token() : 0, bucket ? bucket->fill() : 0};
    }

    bool is_open_at(Millis now) const noexcept {
        constexpr std::int64_t longest = max_fill / 1'000'000'000;  // limits of larger bursts may share it
        return is_open(window, bucket ? longest : rate.period, now);
    }
};

/// One key under one limit of one store, with all windows that it may have there.
struct KeyOfLimit {
    const Tally& tally;
    std::uint64_t id = 0;  ///< the id that the console shows
    std::vector<std::unique_ptr<AskedWindow>> windows;
    bool away = false;  ///< the store did not answer: what its windows are is not known
};

}  // namespace rate_limit
