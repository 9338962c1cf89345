#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/counts/debt_counts.h"
#include "core/limit/bucket.h"
#include "core/limit/window.h"
#include "core/machine/debt_record.h"
#include "core/machine/window_account.h"
#include "limiter/loop.h"
#include "redis/keys/routes.h"

namespace rate_limit {

class Zone;
struct Demand;

/// Cost that admitted requests owe to one window, or get back from it.
struct Debt {
    DebtKind kind = DebtKind::charges;  ///< or refunds
    WindowKind window_kind = WindowKind::first;
    std::int64_t cost = 0;      ///< sum of all charges, or of all refunds
    std::uint64_t charges = 1;  ///< how many charges or refunds
    std::int64_t period = 0;
    Millis reset = 0;  ///< end of the window found, or proposed, before the request
    WindowId id;       ///< identifies the window in the memory of this machine
    Receipt receipt;
    Nanos fill = 0;  ///< time to fill the bucket; 0: a window. A bucket's cost is in nanoseconds
    BucketReceipt receipt_of_bucket;  ///< for what goes back to a bucket; of several the earliest mark

    bool of_bucket() const noexcept { return fill != 0; }

    /// Counts more of the same window or bucket to it.
    void join(const Debt& more) noexcept;
};

/// The debt, or the refund, of `cost`, as Demand::owed_for() has it, to the window that ends at `reset`. A
/// bucket is owed it until that must be full again, and takes back until `reset`, when it was to be full:
/// once it has been, the tokens are there already, and others may have taken them.
Debt debt_of(const Demand& demand, DebtKind kind, std::int64_t cost, Millis reset, Millis now) noexcept;

/// Charges and refunds that wait for one primary, each summed per window. Refunds wait apart from charges,
/// because they are for one window alone and not for the next one of its key. All wait in the zone, where any
/// worker can take them up; charges that find no room there wait in this worker until there is some.
class Backlog {
public:
    /// How many windows may wait in this worker.
    static constexpr std::size_t max_here = 100'000;

    class Owner {
    public:
        /// Whether this primary serves the slot now.
        virtual bool serves(Route slot) const noexcept = 0;

        /// In which parts of a cluster it may serve slots: bit n for part n of Routes::part_of().
        virtual Routes::Parts parts() const noexcept = 0;

    protected:
        ~Owner() = default;
    };

    /// `routes` are those of the store. Of a cluster the owner says which are this primary's; else it is
    /// `route` alone.
    Backlog(Zone& zone, const Routes& routes, Route route, const Owner& owner) noexcept
        : zone_(zone), routes_(routes), route_(route), owner_(owner) {}

    struct Added {
        bool kept = false;           ///< false: no room
        std::optional<Debt> closed;  ///< debt that waited for an earlier window of this key
    };
    Added add(const std::string& key, const Debt& owed, Millis now);

    /// Takes out the charges of one window, perhaps a closed one. False if this turn's part of the zone has
    /// nothing; while searching() there is more to look through.
    bool take(std::string& key, Debt& owed);

    /// The last take() stopped at that limit, with more of the zone to look through.
    bool searching() const noexcept { return cut_short_; }

    /// The next take() starts after the last one found, because the primary refused that.
    void move_on() noexcept { ++set_; }

    /// Lets take() search the zone again although it found nothing.
    void search() noexcept { in_vain_ = 0; }

    /// Takes out some of the debts in this worker whose window has closed.
    template <typename Fn>
    void take_closed(Millis now, Fn&& fn) {
        for (int left = closed_at_once; left > 0 && !ends_.empty() && ends_.begin()->first <= now; --left) {
            fn(take_first().mapped());
        }
    }

    /// Looks at the next `most` debts in this worker, after those of the last call, and forgets those that
    /// fn(key, Debt) has taken over: it returns true then. Returns how many it looked at.
    template <typename Fn>
    std::size_t hand_over(std::size_t most, Fn&& fn) noexcept {
        std::size_t looked = 0;
        walk_here(
            handed_, [&] { return looked != most; },
            [&](const std::string& key, const Debt& owed) {
                ++looked;
                return fn(key, owed);
            });
        return looked;
    }

    /// How many more debts may look for room in the zone.
    struct Looks {
        static constexpr std::size_t unlimited = static_cast<std::size_t>(-1);
        static constexpr std::size_t cost_in_vain = 4;  // in looks: both of a window's sets were searched

        std::size_t left;         ///< in all
        std::size_t most_vain;    ///< so many, one after the other, without finding any: the zone is full
        std::size_t in_vain = 0;  ///< so many were the last ones

        bool over() const noexcept { return left == 0 || in_vain >= most_vain; }
    };

    /// Lets the next debts in this worker look for room in the zone again, until all have or `looks` are
    /// over. Calls fn(Debt) for those whose window has closed, there or here: they are gone.
    template <typename Fn>
    void move_to_zone(Looks& looks, Millis now, Fn&& fn) noexcept {
        walk_here(
            moved_, [&] { return !looks.over(); },
            [&](const std::string& key, const Debt& owed) {
                std::optional<Debt> closed;
                Found found = Found::room;
                if (owed.reset <= now) {
                    closed = owed;
                } else {
                    found = add_to_zone(key, owed, now, closed);
                }
                if (closed) {
                    fn(*closed);
                }
                const bool vain = found == Found::nothing;
                looks.in_vain = vain ? looks.in_vain + 1 : 0;
                looks.left -= std::min(looks.left, vain ? Looks::cost_in_vain : 1);
                return found == Found::room;
            });
    }

    /// The next move_to_zone() begins with the first debt in this worker.
    void begin_anew() noexcept { moved_ = {}; }

    /// Takes out the charges of the window of `id`, whose Redis key is `key`, in the zone and in this worker:
    /// its charges, and its refunds to the window that ends at `reset`. Calls fn(Debt) for each.
    template <typename Fn>
    void take_all(const std::string& key, const WindowId& id, Millis reset, Fn&& fn) {
        Debt owed;
        for (const DebtKind kind : {DebtKind::charges, DebtKind::refunds}) {
            if (take_from_zone(debt_id_of(kind, id, reset), owed)) {
                fn(owed);
            }
        }
        const auto found = here_.find(key);
        if (found != here_.end()) {
            ends_.erase({found->second.reset, &found->first});
            fn(here_.extract(found).mapped());
        }
    }

    /// The cost of all charges that wait in the zone for this window.
    std::int64_t cost_of(const WindowId& id) const noexcept;

    bool full_here() const noexcept { return here_.size() >= max_here; }

    std::size_t here() const noexcept { return here_.size(); }  ///< windows that wait in this worker
    std::uint64_t charges_here() const noexcept;                ///< how many charges of them

    /// Those in the zone, too; of a cluster those of other primaries in the same parts, too.
    std::size_t count() const noexcept { return here_.size() + count_there(); }

private:
    using Here = std::unordered_map<std::string, Debt>;

    /// In `ends_`. Of a place that was kept the key is only compared: it may be gone.
    using Place = std::pair<Millis, const std::string*>;

    static constexpr int closed_at_once = 100;
    static constexpr std::size_t sets_a_turn = 512;

    /// Goes on behind the place `last` while `more()`, and to the end; the next call begins anew then.
    template <typename More, typename Fn>
    void walk_here(Place& last, More more, Fn&& fn) noexcept {
        auto at = ends_.upper_bound(last);
        while (at != ends_.end() && more()) {
            const auto next = std::next(at);
            last = *at;
            const auto found = here_.find(*at->second);
            if (fn(found->first, found->second)) {
                ends_.erase(at);
                here_.erase(found);
            }
            at = next;
        }
        if (at == ends_.end()) {
            last = {};
        }
    }

    /// Result of a debt's search in the zone. `another`: a former configuration's debt has its key.
    enum class Found : unsigned char { room, nothing, another };

    void add_here(const std::string& key, const Debt& owed);
    Here::node_type take_first() noexcept;
    bool may_search() noexcept;
    Found add_to_zone(const std::string& key, const Debt& owed, Millis now,
                      std::optional<Debt>& closed) noexcept;
    bool take_from_zone(std::string& key, Debt& owed);
    bool take_from_zone(const WindowId& debt, Debt& owed) noexcept;
    template <typename Wanted>
    bool take_out(const WindowId& debt, Wanted wanted, Debt& owed, std::string* key) noexcept;
    bool is_ours(std::uint64_t digest) const noexcept;
    std::size_t count_there() const noexcept;

    Zone& zone_;
    const Routes& routes_;
    const Route route_;
    const Owner& owner_;
    Here here_;
    std::set<Place> ends_;        // ends and keys of the windows in here_
    Place handed_;                // the last one that hand_over() looked at
    Place moved_;                 // the last one that move_to_zone() looked at
    std::size_t set_ = 0;         // set of the zone where the search goes on
    std::size_t in_vain_ = 0;     // sets since the search began, or since it found one
    std::uint64_t searched_ = 0;  // how many waited in the zone then
    std::size_t looked_ = 0;      // sets in this turn of the event loop
    Msec turn_ = 0;
    bool cut_short_ = false;
};

/// How many windows wait in the zone: for the shard of this route, or in these parts of the cluster.
std::uint64_t count_waiting(DebtCounts& counts, const Routes& routes, Route route,
                            Routes::Parts parts) noexcept;

/// How records in the zone name the route of a window; `route`: that of the shard, if the store has shards.
std::uint64_t digest_of(const Routes& routes, Route route, std::string_view window_key) noexcept;

}  // namespace rate_limit
