#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/counts/debt_counts.h"
#include "core/limit/window.h"
#include "core/machine/records/debt_record.h"
#include "limiter/kinds/owed/debt.h"
#include "limiter/loop.h"
#include "limiter/wire/guide.h"
#include "redis/keys/routes.h"

namespace rate_limit {

class Zone;

/// Charges and refunds that wait for one primary, each summed per window. Refunds wait apart from charges,
/// because they are for one window alone and not for the next one of its key. All wait in the zone, where any
/// worker can take them up; what finds no room there is lost.
class Backlog {
public:
    /// `routes` are those of the store, and `route` is that of the shard; in a cluster its number, and the
    /// guide says which are its own.
    Backlog(Zone& zone, const Routes& routes, Route route, const Guide& guide) noexcept
        : zone_(zone), routes_(routes), route_(route), guide_(guide) {}

    struct Added {
        bool kept = false;           ///< false: no room
        std::optional<Debt> closed;  ///< debt that waited for an earlier window of this key
    };
    Added add(std::string_view key, const Debt& owed, Millis now) noexcept;

    enum class Which : unsigned char { all, of_buckets };

    /// Takes out the charges of one window, perhaps a closed one. False if this turn's part of the zone has
    /// nothing; while searching() there is more to look through. What is added meanwhile for buckets is
    /// found `of_buckets` after the next search_again().
    bool take(Which which, std::string& key, Debt& owed);

    /// The last take() stopped at the end of this turn's part, with more of the zone to look through.
    bool searching() const noexcept { return cut_short_; }

    /// The next take() starts after the last one found, because the primary refused that.
    void move_on() noexcept {
        ++of_all_.set;
        ++of_buckets_.set;
    }

    /// Lets take() search the zone again although it found nothing.
    void search_again() noexcept {
        of_all_.in_vain = 0;
        of_buckets_.in_vain = 0;
    }

    /// Takes out the charges of the window of `id`, whose Redis key is `key`, and its refunds to the window
    /// that ends at `reset`. Calls fn(Debt) for each.
    template <typename Fn>
    void take_all(std::string_view key, const WindowId& id, Millis reset, Fn&& fn) noexcept {
        Debt owed;
        for (const DebtKind kind : {DebtKind::charges, DebtKind::refunds}) {
            if (take_one(waiting_id_of(kind, id, reset, digest_of(key)), owed)) {
                fn(owed);
            }
        }
    }

    /// The cost of all charges that wait for this window.
    std::int64_t cost_of(const WindowId& id) const noexcept;

    /// How many windows wait; of a cluster those of other primaries in the same parts, too.
    std::size_t count() const noexcept;

private:
    static constexpr std::size_t sets_a_turn = 512;

    struct Cursor {
        std::size_t set = 0;      // set of the zone where it goes on
        std::size_t in_vain = 0;  // sets since it began, or since it found one
    };

    bool may_search(const Cursor& cursor) noexcept;
    bool take_one(const WindowId& debt, Debt& owed) noexcept;
    template <typename Wanted>
    bool take_out(const WindowId& debt, Wanted wanted, Debt& owed, std::string* key) noexcept;
    bool is_ours(std::uint64_t digest) const noexcept;
    std::uint64_t digest_of(std::string_view key) const noexcept;

    Zone& zone_;
    const Routes& routes_;
    const Route route_;
    const Guide& guide_;
    Cursor of_all_;
    Cursor of_buckets_;           // passes over windows
    std::uint64_t searched_ = 0;  // how many waited in the zone as of_all_ began, or found one
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
