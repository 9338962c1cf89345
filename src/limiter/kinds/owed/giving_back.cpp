#include "limiter/kinds/owed/giving_back.h"

#include "core/bucket/bucket_account.h"
#include "core/machine/records/confirmed.h"
#include "core/machine/records/reading.h"
#include "core/machine/windows/window_account.h"
#include "limiter/loop.h"
#include "limiter/zone.h"
#include "redis/command.h"

namespace rate_limit {

namespace {

std::int64_t learn_of_bucket(Zone& zone, const GivingBack& what, const Window& answer, Millis now) noexcept {
    std::int64_t lost = 0;
    zone.windows().change(what.id, [&](BucketRecord& record) {
        learn_bucket(record, what.fill, now, answer.used);
        lost = what.all() ? at_hand(record) : 0;
        record.leased = record.leased - static_cast<std::uint64_t>(lost);
    });
    return lost;
}

std::int64_t learn_of_window(Zone& zone, const GivingBack& what, const Window& answer, std::int64_t waiting,
                             Millis now) noexcept {
    const Terms terms{what.rate, Truth::redis, propose_reset(what.window_kind, what.rate.period, now), now};
    std::int64_t lost = 0;
    const auto take = [&](WindowRecord& record) {
        if (answer.reset == 0 && record.reset != what.reset && what.reset != 0) {
            return;  // another window is known, of which this says nothing
        }
        lost = at_hand(record);
        take_given_back(record, terms, answer, what.all(), waiting);
        lost -= at_hand(record);
    };
    // The record is made where there is none: a replica may not have heard of this for a while. Without room
    // that is what requests are told.
    answer.reset != 0 ? (void)zone.windows().update(what.id, now, take)
                      : (void)zone.windows().change(what.id, take);
    return lost;
}

}  // namespace

std::int64_t learn_given_back(Zone& zone, const GivingBack& what, const Window& answer,
                              std::int64_t waiting) noexcept {
    const Millis now = now_millis();
    const std::int64_t lost = what.of_bucket() ? learn_of_bucket(zone, what, answer, now)
                                               : learn_of_window(zone, what, answer, waiting, now);
    zone.windows().change(reading_id_of(what.id), give_up_reading);
    return lost;
}

/// The record is made where there is none: an answer from before may be on its way.
void forget_confirmed(Zone& zone, const GivingBack& what, Millis now) noexcept {
    if (!what.of_bucket()) {
        (void)zone.windows().update(confirmed_id_of(what.id), now,
                                    [now](ConfirmedRecord& record) { make_void(record, now); });
    }
}

std::string_view write(CommandWriter& writer, std::string_view key, const GivingBack& what, bool with_text) {
    return what.of_bucket() ? writer.draw(key, {what.token, what.fill, -what.cost, 0, 1}, with_text)
                            : writer.refund(key, what.cost, what.reset, {}, Emptied::stays, with_text);
}

}  // namespace rate_limit
