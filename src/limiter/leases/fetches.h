#pragma once

#include <string_view>
#include <unordered_map>

#include "limiter/charges/charges.h"
#include "limiter/kinds/owed/demand.h"
#include "limiter/leases/batch_kind.h"
#include "limiter/leases/fetch.h"
#include "limiter/leases/hoard.h"
#include "limiter/leases/unanswered_batches.h"
#include "redis/keys/routes.h"

namespace rate_limit {

class Nodes;
class Zone;
struct StoreConf;

/// Tokens of one shard's windows, as one worker fetches them from the primary: a batch at a time, one batch
/// at a time for a window. Requests that come meanwhile take a seat in it as long as it has tokens for them,
/// so nobody waits for tokens that others have spoken for; a request that finds no seat asks for itself, or,
/// where the window is a bucket, for a part of a batch in which others take seats. What is left goes into the
/// hoard.
class Fetches {
public:
    /// `route` as Backlog has it.
    Fetches(const StoreConf& store, Route route, Nodes& nodes, Charges& charges, Hoard& hoard,
            ShardCounters& counters, Deadlines& deadlines, UnansweredBatches& unanswered) noexcept;

    /// The request waits for tokens, `demand.want` of them. `key`, the window's Redis key, and `demand` stay
    /// valid while it waits.
    void fetch(Seat& seat, std::string_view key, const Demand& demand, Answer::Owner& owner) noexcept;

    /// Fetches a batch that nobody waits for yet, unless batches have a fixed size, or enough is on its way.
    void fetch_ahead(std::string_view key, const Demand& demand) noexcept;

    /// The time that the primary takes to answer, in milliseconds, rounded up. 0: it is not known.
    Millis answer_time() const noexcept;

    /// Whether requests may find seats, or show that they follow one another quickly.
    bool is_asking(const WindowId& id) const noexcept { return open_.find(id) != open_.end(); }

    /// Asks again what became of a batch, if the primary may answer now and no request asks.
    void ask_again(const UnansweredBatch& batch) noexcept;

    /// Nobody will learn what became of it.
    void give_up(const UnansweredBatch& batch) noexcept { charges_.doubt_reservation(batch.why); }

    /// The shard has another primary. What the one before was asked may never be answered: nobody else waits
    /// for that.
    void change_primary() noexcept { open_.clear(); }

    // Members that a BatchKind needs.

    Zone& zone() noexcept { return zone_; }
    Hoard& hoard() noexcept { return hoard_; }
    Charges& charges() noexcept { return charges_; }
    ShardCounters& counters() noexcept { return counters_; }

    /// The batch has the number of the one before it, if that one was not answered: Redis tells then what it
    /// was granted. It has none while one with a number is under way, perhaps to a former primary.
    void number_batch(Fetch& fetch) noexcept;

    /// No more request takes a seat in it, and its number, if it has one, is free again.
    void close(Fetch& fetch) noexcept;

    /// Tells the requests: each gets the window shown(tokens), those that are served first; or takes another
    /// seat where again(demand) is true of it.
    template <typename Shown, typename Again>
    void tell(Sharing& sharing, Shown&& shown, Again&& again) noexcept {
        while (!sharing.served.empty()) {
            Seat& seat = sharing.served.front();
            const std::int64_t want = seat.demand_->want;
            seat.end_ = sharing.end;
            seat.serve(want, shown(want));
        }
        while (!sharing.waiting.empty()) {
            Seat& seat = sharing.waiting.front();
            if (again(*seat.demand_)) {
                seat.leave();
                find_seat(seat);
            } else {
                seat.serve(0, shown(0));
            }
        }
    }

private:
    friend class Fetch;

    void find_seat(Seat& seat) noexcept;
    Fetch& take(std::string_view key, const Demand& demand, bool& opens);
    Fetch& start(std::string_view key, const Demand& demand);
    bool keep_unanswered(const Fetch& fetch) noexcept;
    void forget_unanswered(const WindowId& id, Fault fault) noexcept;
    void submit(Fetch& fetch) noexcept;
    void fail(Fetch& fetch, const char* reason) noexcept;
    const Routes& routes_;
    const Route route_;
    Nodes& nodes_;
    Charges& charges_;
    Hoard& hoard_;
    ShardCounters& counters_;
    Deadlines& deadlines_;
    UnansweredBatches& unanswered_;
    Zone& zone_;
    std::unordered_map<WindowId, Fetch*, HashOfId> open_;  // in which more requests may take seats
};

}  // namespace rate_limit
