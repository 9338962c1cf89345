#pragma once

#include <string>
#include <vector>

#include "t/world/configured.h"
#include "t/world/server_state.h"
#include "t/worlds/fault.h"
#include "t/worlds/site_plan.h"

namespace rate_limit::world {

/// The faults that may befall the servers of a world and the links to them.
enum class ServerFault : unsigned char {
    reset,          ///< a connection to a server ends between two bytes
    cut,            ///< connections end within a command or a reply
    slow,           ///< a link takes up to a second each way, for a while
    jitter,         ///< delays of a link get a heavy tail, other ones there than back, for a while
    pieces,         ///< bytes come in pieces, for a while
    silent,         ///< nothing arrives on a link, and nobody is told, for a while
    half_open,      ///< nothing arrives in one direction, for a while
    refused,        ///< nobody may connect, for a while
    pause,          ///< a server does not run, for a while
    restart,        ///< a server dies, and comes back with its data
    vanish,         ///< the same, and clients are not told
    data_loss,      ///< a server dies, and comes back without its data
    flush,          ///< SCRIPT FLUSH
    loading,        ///< a server answers LOADING, for a while
    oom,            ///< a server takes no writes: OOM, for a while
    misconf,        ///< the same: MISCONF
    no_replicas,    ///< the same: NOREPLICAS
    read_only,      ///< the same: READONLY, as if it had been made a replica
    busy,           ///< a server answers BUSY, for a while
    lag,            ///< a replica is up to a second behind, for a while
    stall,          ///< nothing arrives at a replica, and nobody is told, for a while
    stale,          ///< a replica has no link to its primary, and may say MASTERDOWN, for a while
    failover,       ///< a replica becomes the primary; the former one lives, and follows it a while later
    hand_over,      ///< the same in a cluster, when the replica has caught up and the former primary knows
    death,          ///< a primary dies without a word, and a replica takes its place
    freeze,         ///< a primary stops, a replica takes its place, and it goes on with what it was sent
    lost_sentinel,  ///< a sentinel is down, silent, slow in pieces, or knows nothing, or nothing new
    slot_move,      ///< slots of a cluster move from one primary to another
    down,           ///< a node of a cluster says CLUSTERDOWN, or TRYAGAIN of all slots, for a while
    deaf,           ///< a node of a cluster does not learn anything, for a while
    no_permission,  ///< a server says NOPERM to some commands, for a while
    old_data,  ///< a server goes on for a while, then it dies and comes back with the data that it had before
    moved,     ///< a server is found at another address, to which its host's name leads a while later
    gone,      ///< a server dies without a word, and never comes back
};
constexpr std::size_t server_faults = static_cast<std::size_t>(ServerFault::gone) + 1;

/// The kinds before the first of these are drawn together, those before the second by themselves, and those
/// before the third by themselves, too: so a kind that is new does not change worlds that have none of it.
/// Others befall whole regions alone.
constexpr std::size_t kinds_drawn_together = static_cast<std::size_t>(ServerFault::no_permission);
constexpr std::size_t kinds_drawn_later = static_cast<std::size_t>(ServerFault::moved);
constexpr std::size_t kinds_drawn_at_all = static_cast<std::size_t>(ServerFault::gone);

const char* name_of(ServerFault kind) noexcept;
constexpr const char* place_of(ServerFault) noexcept {
    return "server";
}

/// The servers of a world, what each machine is told of them, and what befalls them.
struct ServerPlan {
    /// `lasts`: faults come until then. `sites`: in several, each replica set is placed.
    ServerPlan(Chance chance, Micros lasts, SitePlan& sites);

    /// Adds faults of the kinds from kinds_drawn_together on, in some worlds, and lets clocks of one set
    /// differ, in some others.
    void add_later(Chance chance, Micros lasts);

    /// In some worlds names of hosts stand in the configuration, and servers move. True: it has changed.
    bool add_names(Chance chance, Micros lasts);

    /// By so much clocks may go forward in all as other servers take the place of primaries: so much more
    /// time passes for what Redis keeps.
    Micros gained() const noexcept;

    /// The region whose primary the set of this number has, of so many.
    std::size_t region_of_set(std::size_t number, std::size_t regions) const noexcept {
        return number / (sets.size() / regions);
    }

    /// The number of the first server of its sets; behind the last region how many there are.
    std::size_t first_server_of(std::size_t region, std::size_t regions) const noexcept;

    /// The number of the set that a server of this number is in.
    std::size_t set_of(std::size_t server) const noexcept;

    /// A primary, and the replicas that it has in the beginning.
    struct Set {
        std::size_t members;
        Micros ahead;  ///< how far the clock of the first member is ahead of UTC
        Micros lag;    ///< of replication
        Micros apart;  ///< how far each member's clock is ahead of that of the one before it
    };

    /// How machines learn which servers there are.
    enum class Discovery : unsigned char { by_configuration, by_sentinels, by_cluster };

    std::vector<StoreSetup> stores;
    std::vector<StoreSetup> of_regions;  ///< the store as the machines of each region have it; else empty
    std::vector<Set> sets;
    std::vector<std::string> sentinels;  ///< their addresses; of several regions each has as many
    ServerVersion version = ServerVersion::redis_7;
    std::size_t slot_owners = 0;  ///< how many sets have slots in the beginning; 0: there is no cluster
    std::vector<Fault<ServerFault>> faults;

    std::size_t count_servers() const noexcept;

    /// Whether something of the kind may come.
    bool has(ServerFault kind) const noexcept;

    /// Whether another server may take the place of a primary, or its slots.
    bool replaces_primaries() const noexcept;

private:
    void add_sets(Chance& chance, Discovery discovery, StoreSetup& store, SitePlan& sites);
    void add_regions(Chance& chance, SitePlan& sites);
    StoreSetup store_in(std::size_t region, const SitePlan& sites, bool near_alone) const;
    void add_sentinels(Chance& chance, StoreSetup& store);
    void add_cluster(Chance& chance, StoreSetup& store);
};

/// The addresses of so many sentinels of a world.
std::vector<std::string> addresses_of_sentinels(std::size_t count);

/// `10.0.0.1:6379` for 0, and so on; and where it is once it has moved, and what its host is called.
std::string address_of_server(std::size_t number);
std::string other_address_of_server(std::size_t number);
std::string host_of_server(std::size_t number);

}  // namespace rate_limit::world
