#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/machine/records.h"
#include "core/machine/workers/worker_places.h"
#include "core/slots/slots_account.h"

namespace rate_limit {

// How a killed worker's requests come to an end
// =============================================
//
// A worker that is killed never says that its requests have ended. So each worker that has requests of a key
// running counts them in a record of its own, besides the sum in the key's record. When a worker has died,
// the number of deaths in WorkerPlaces is another than in the key's record, and the worker that touches that
// next adds up what the living workers count.
//
// A change of both records takes two steps, and a sum that another worker takes in between would stay wrong.
// Therefore a worker first says in its place which key it is about to change, then changes the key's record,
// then its own. A worker that adds up
//
//   1. reads the number of deaths, and then the key's record, with its count of changes;
//   2. of each place waits until its owner is not changing this key, and reads the owner's count;
//   3. writes the sum if the key's record has not been changed since.
//
// A change that had begun before 1 is in the key's record and, after 2, in its worker's; one that begins
// later shows in 3. If it cannot be done at once, the sum remains too large for a while, which lets in nobody
// too many.

/// The slots of all keys of one machine, as one worker uses them. It does to the table's records what
/// slots_account.h says, and counts for each worker apart. The table and the places belong to the zone and
/// outlive this object. `id` is that of the key's record; one key has one ttl and one store.
class SharedSlots {
public:
    /// `place` is this worker's.
    SharedSlots(WindowTable& table, WorkerPlaces& places, std::size_t place) noexcept
        : table_(table), places_(places), place_(place), self_(places.owner_of(place)) {}

    /// A request begins; if it is admitted, this worker calls leave() when it ends.
    SlotsEntry enter(const WindowId& id, const SlotsTerms& terms, Asking asking = Asking::at_once) noexcept;

    /// A request begins in any case. False if there is no room to count it: then it does not leave either.
    bool enter_anyway(const WindowId& id, const SlotsTerms& terms) noexcept;

    /// A request of this worker ends. Returns the call that is due after it: see due().
    std::optional<SlotsCall> leave(const WindowId& id, const SlotsTerms& terms,
                                   IdleSlots idle = IdleSlots::stay) noexcept;

    /// The functions of slots_account.h, for the record of this key.
    std::optional<SlotsCall> due(const WindowId& id, const SlotsTerms& terms,
                                 IdleSlots idle = IdleSlots::stay) noexcept;
    void learn(const WindowId& id, const SlotsTerms& terms, const SlotsCall& call,
               const SlotsAnswer& answer) noexcept;
    void give_up(const WindowId& id, const SlotsTerms& terms, const SlotsCall& call) noexcept;

    /// A copy of the key's record; one without running requests and slots if there is none.
    SlotsRecord recall(const WindowId& id) noexcept;

    /// After a death: corrects the records of running requests in one set of the table and removes those of
    /// the dead. False if another worker kept it from correcting one: the caller comes again.
    /// `terms` tell the time, and the ttl; keys that are still asked for are corrected without this.
    bool sweep(std::size_t set, const SlotsTerms& terms) noexcept;

private:
    enum class Step : std::uint8_t { in, out };

    template <typename Fn>
    bool begin(const WindowId& id, const SlotsTerms& terms, Fn fn) noexcept;

    bool count(const WindowId& id, Step step, const SlotsTerms& terms) noexcept;
    bool is_outdated(const SlotsRecord& record) const noexcept;
    void refresh(const WindowId& id, const SlotsTerms& terms) noexcept;
    bool add_up(const WindowId& id, const SlotsTerms& terms) noexcept;
    std::optional<std::int64_t> count_living(const WindowId& id) noexcept;

    WindowTable& table_;
    WorkerPlaces& places_;
    std::size_t place_;
    std::uint64_t self_;
};

/// The id of the record in which a worker counts its own requests of a key. No other has it, but by chance.
constexpr WindowId share_id_of(const WindowId& id, std::size_t place) noexcept {
    return {id.high + (place + 1) * 0x9e3779b97f4a7c15, id.low ^ 0xd1b54a32d192ed03};
}

}  // namespace rate_limit
