#pragma once

#include <string_view>
#include <unordered_map>

#include "core/machine/debt_record.h"
#include "core/machine/note_walk.h"
#include "limiter/charges/charges.h"
#include "limiter/charges/demand.h"
#include "limiter/leases/fetch.h"
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
/// memory of the window, for all workers, and is noted there with its Redis key, so that any worker can give
/// it back.
class Fetches {
public:
    /// `route` as Backlog has it.
    Fetches(const StoreConf& store, Route route, Nodes& nodes, Charges& charges, ShardCounters& counters,
            Deadlines& deadlines, UnansweredBatches& unanswered) noexcept;

    /// The request waits for tokens, `demand.want` of them. `key`, the window's Redis key, and `demand` stay
    /// valid while it waits.
    void fetch(Seat& seat, std::string_view key, const Demand& demand, Answer::Owner& owner) noexcept;

    /// Fetches a batch that nobody waits for yet.
    void fetch_ahead(std::string_view key, const Demand& demand) noexcept;

    /// Asks again what became of a batch, if the primary may answer now and no request asks.
    void ask_again(const UnansweredBatch& batch) noexcept;

    /// Nobody will learn what became of one.
    void give_up() noexcept { charges_.doubt_reservation(); }

    /// The shard has another primary. What the one before was asked may never be answered: nobody else waits
    /// for that.
    void change_primary() noexcept { open_.clear(); }

    /// A request gives back tokens of the window of `demand` that ends at `reset`: to those at hand, or to
    /// the primary if they cannot be kept.
    void give_back(std::string_view key, const Demand& demand, std::int64_t tokens, Millis reset) noexcept;

    /// A request gives back tokens of a bucket: to those at hand, or to the primary if they cannot be kept.
    void give_back(std::string_view key, const Demand& demand, const Dying& tokens) noexcept;

    /// The noted tokens that end() leaves.
    enum class Left : unsigned char {
        nothing,
        tokens,  ///< they are at hand, and noted
        refund,  ///< they are on their way back to the primary
    };

    /// The window of these noted tokens has ended: those that nobody has spent are lost. Those of a bucket
    /// that have died, or `all` of them, go back as far as they are worth it.
    Left end(const Noted& seen, bool all) noexcept;

    /// Gives back to the primary the noted tokens that are not needed, or `all` of them; true if it gave any.
    bool look(const Noted& seen, bool all, Millis now) noexcept;

private:
    friend class Fetch;

    void find_seat(Seat& seat) noexcept;
    Fetch& take(std::string_view key, const Demand& demand, bool& opens);
    Fetch& start(std::string_view key, const Demand& demand);
    void number_batch(Fetch& fetch) noexcept;
    bool keep_unanswered(const Fetch& fetch) noexcept;
    void submit(Fetch& fetch) noexcept;
    void close(Fetch& fetch) noexcept;
    void fail(Fetch& fetch, const char* reason) noexcept;
    void hand_out(Fetch& fetch, std::int64_t granted, const Window& answer) noexcept;
    bool hand_out_here(const Fetch& fetch, std::int64_t granted, const Window& answer,
                       Sharing& sharing) noexcept;
    void hand_out_there(const Fetch& fetch, std::int64_t granted, const Window& answer,
                        Sharing& sharing) noexcept;
    void tell(Sharing& sharing, const Window& answer, bool too_late) noexcept;
    void refund(std::string_view key, const Demand& demand, std::int64_t tokens, Millis reset) noexcept;
    void keep(const Fetch& fetch, Millis reset, std::int64_t tokens, Millis now) noexcept;
    bool note(std::string_view key, const Demand& demand, Millis reset, std::int64_t tokens,
              Millis now) noexcept;

    // Functions for buckets, in bucket_fetches.cpp.
    void size_up(Fetch& fetch, bool batched) noexcept;
    void hand_out_of_bucket(Fetch& fetch, std::int64_t granted, const Window& answer) noexcept;
    bool hand_out_here(const Fetch& fetch, std::int64_t granted, const Window& answer, Sharing& sharing,
                       Dying& dying) noexcept;
    void keep(const Fetch& fetch, Ticks end) noexcept;
    bool note(std::string_view key, const Demand& demand, Ticks end) noexcept;
    Left look_at_bucket(const Noted& seen, bool all) noexcept;
    bool refund(std::string_view key, const Demand& demand, const Dying& tokens) noexcept;

    const Routes& routes_;
    const Route route_;
    Nodes& nodes_;
    Charges& charges_;
    ShardCounters& counters_;
    Deadlines& deadlines_;
    UnansweredBatches& unanswered_;
    Zone& zone_;
    std::unordered_map<WindowId, Fetch*, HashOfId> open_;  // in which more requests may take seats
};

}  // namespace rate_limit
