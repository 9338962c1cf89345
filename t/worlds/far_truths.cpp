#include "t/worlds/far_truths.h"

#include <algorithm>

#include "core/nearness.h"
#include "limiter/store/shard.h"

namespace rate_limit::world {

namespace {

/// By then a worker is connected to all servers, and has measured them.
constexpr Micros starts_in = 2 * second;

/// By then a replica that is back is read again.
constexpr Micros back_in = 2 * second;

/// By then a worker has found out whether a server has forgotten its connection, after it has asked it.
constexpr Micros found_out_in = 300'000;

/// Timers fire by the millisecond.
constexpr Micros timers_late = 3'000;

/// While faults that came before are noticed, choices change.
constexpr Micros noticed_in = 3 * second;

Micros near_bound(Micros trip, Micros jitter) {
    return static_cast<Micros>(still_near(static_cast<std::uint64_t>(trip + jitter)));
}

/// Whether a fault of the kind makes something fail.
bool does_harm(MachineFault kind) {
    return kind != MachineFault::leave && kind != MachineFault::reload;
}

}  // namespace

FarTruths::FarTruths(const Events& events, Network& network, const Plan& plan, Servers& servers,
                     Machines& machines, Truths& truths)
    : events_(events),
      plan_(plan),
      truths_(truths),
      reach_(events, network, plan, servers, machines),
      asks_(plan.sites.several() && !plan.sites.regional) {
    for (std::size_t number = 0; number < servers.all().size(); ++number) {
        numbers_[address_of_server(number)] = number;
        numbers_[other_address_of_server(number)] = number;
    }
    for (const Fault<ServerFault>& fault : plan.servers.faults) {
        first_failure_ = std::min(first_failure_, fault.at);
    }
    for (const Fault<MachineFault>& fault : plan.machines.faults) {
        first_failure_ = does_harm(fault.kind) ? std::min(first_failure_, fault.at) : first_failure_;
    }
}

void FarTruths::on_connect(const std::string& address) {
    const auto server = numbers_.find(address);
    if (asks_ && server != numbers_.end()) {
        started_.try_emplace(Loop::current().pid(), events_.now());
    }
}

void FarTruths::on_command(const std::string& address, std::string_view command) {
    const auto server = numbers_.find(address);
    if (!asks_ || server == numbers_.end()) {
        return;
    }
    note_asked(server->second);
    // A primary is asked whether a limit is still reached.
    const bool replica = reach_.state(Loop::current().machine, server->second).replica;
    if (begins_ && replica && command.find("HMGET") != std::string_view::npos) {
        choose(server->second);
    }
}

FarTruths::Met& FarTruths::meet(std::size_t server) {
    const Loop& loop = Loop::current();
    Met& met = met_[{loop.pid(), server}];
    if (met.since != reach_.state(loop.machine, server).since) {
        met = next(met, server);
    }
    const Micros certain = reach_.state(loop.machine, server).certain;
    if (met.certain != certain) {
        met.certain = certain;
        begin_looks(met);  // what was measured before may be wrong
    }
    return met;
}

/// The server has become another one than it was. Where something was missed in between, nothing is known.
FarTruths::Met FarTruths::next(const Met& before, std::size_t server) const {
    const std::size_t machine = Loop::current().machine;
    const Reach::State& state = reach_.state(machine, server);
    const bool well = state.health_before == Reach::Health::well;
    const bool measured = !before.slow || before.knew_it_dead || before.measured_by + back_in <= state.since;
    const bool dead = state.health_before == Reach::Health::dead;
    Met met{state.since, state.slow};
    met.measured = before.since == state.before && (dead ? before.measured : well && measured);
    const Micros trip = reach_.round_trip(machine, server) + reach_.jitter(machine, server);
    const auto timeout = static_cast<Micros>(plan_.servers.stores.front().check_timeout) * 1000;
    met.knew_it_dead = dead && met.measured && before.asked != Reach::never &&
                       before.asked + std::max(timeout, 4 * trip) + timers_late <= state.since;
    return met;
}

void FarTruths::begin_looks(Met& met) noexcept {
    met.looked = -second;
    met.reads = 0;
    met.looks = 0;
    met.measured_by = Reach::never;
}

/// One read in a hundred, at most one a second, looks at one replica that is not read: the one that was
/// measured longest ago. At least one is read.
void FarTruths::count_read(Met& met, const Reach::Members& members) const noexcept {
    constexpr int reads_a_look = 100;
    if (++met.reads < reads_a_look || events_.now() - met.looked < second) {
        return;
    }
    const std::size_t replicas = members.end - members.first - 1;
    met.looked = events_.now();
    met.reads = 0;
    ++met.looks;
    met.measured_by = met.looks + 1 == std::max<std::size_t>(replicas, 2) ? met.looked : met.measured_by;
}

/// Else workers do not know how long an answer takes.
bool FarTruths::has_exact_clock() const noexcept {
    return plan_.machines.clocks.front().read_before == 0;  // all have the same
}

void FarTruths::note_asked(std::size_t server) {
    started_.try_emplace(Loop::current().pid(), events_.now());
    Met& met = meet(server);
    met.asked = std::min(met.asked, events_.now());
}

/// There and back and there again within a second is too often, while nothing happens.
void FarTruths::choose(std::size_t server) {
    const Loop& loop = Loop::current();
    const std::size_t set = reach_.set_of(server);
    const Reach::Members members = reach_.members_of(set);
    for (std::size_t each = members.first; each < members.end; ++each) {
        count_read(meet(each), members);
    }
    const auto [place, first] = choices_.try_emplace({loop.pid(), set}, Choice{server, {-second, -second}});
    Choice& choice = place->second;
    if (first || !has_exact_clock() || !is_apart(loop.machine, choice.server, server)) {
        return;
    }
    const Micros now = events_.now();
    const Micros before = choice.changes[1];
    if (now - before < second && is_quiet(loop.machine, set, before)) {
        truths_.fail("a worker of machine " + std::to_string(loop.machine) + " reads from server " +
                     std::to_string(choice.server) + ", then " + std::to_string(server) +
                     ", and has changed at " + std::to_string(before) + " and " +
                     std::to_string(choice.changes[0]));
    }
    choice = {server, {now, choice.changes[0]}};
}

/// One of them can never be about as near as the other, whatever is measured.
bool FarTruths::is_apart(std::size_t machine, std::size_t one, std::size_t other) const {
    const Micros near = std::min(reach_.round_trip(machine, one), reach_.round_trip(machine, other));
    const Micros far = std::max(reach_.round_trip(machine, one), reach_.round_trip(machine, other));
    const Micros jitter = std::max(reach_.jitter(machine, one), reach_.jitter(machine, other));
    return far > near_bound(near, jitter) + jitter;
}

bool FarTruths::is_quiet(std::size_t machine, std::size_t set, Micros since) {
    bool quiet = reach_.settled(set) + noticed_in < since && reach_.ran_since(machine) + noticed_in < since &&
                 started_.at(Loop::current().pid()) + noticed_in < since;
    const Reach::Members members = reach_.members_of(set);
    for (std::size_t server = members.first; server < members.end; ++server) {
        const Reach::State& state = reach_.state(machine, server);
        const bool known =
            !state.replica || state.health == Reach::Health::dead || knows(machine, server, since);
        quiet = quiet && known && state.since + noticed_in < since;
    }
    return quiet;
}

/// Until the first fault nothing is an error, but that requests come before there are connections, or wait
/// for others that are asked for as well.
void FarTruths::on_line(LogLevel level, std::string_view line) {
    const bool of_request = line.find("could not be checked") != std::string_view::npos;
    if (asks_ && level <= LogLevel::error && !of_request && events_.now() < first_failure_) {
        truths_.fail("nothing has failed yet, and the log says: " + std::string(line));
    }
}

/// The worker reads from it where it is the nearest.
bool FarTruths::knows(std::size_t machine, std::size_t server, Micros begun) {
    const Reach::State& state = reach_.state(machine, server);
    if (state.health != Reach::Health::well || !state.replica || !state.named ||
        std::max(state.since, state.certain) + back_in > begun) {
        return false;
    }
    const Met& met = meet(server);
    const Micros started = started_.at(Loop::current().pid());
    // Since then it was tried again; what a worker measures as it stands still is another thing.
    const bool tried_again = met.knew_it_dead && reach_.ran_since(machine) <= state.since;
    if (tried_again || std::max(state.since, state.certain) <= started) {
        return true;  // or it was so when the worker started
    }
    return state.slow ? met.measured_by + back_in <= begun
                      : met.asked + found_out_in + 2 * reach_.round_trip(machine, server) <= begun;
}

/// The worker has waited for it for so long that it does not count as one that takes at most `near`.
bool FarTruths::knows_it_dead(std::size_t machine, std::size_t server, Micros begun, Micros near) {
    return reach_.state(machine, server).health == Reach::Health::dead &&
           meet(server).asked + near + timers_late <= begun;
}

/// How long a read takes of a request that began then, at most; none: nobody can say.
std::optional<Micros> FarTruths::longest_read(std::size_t machine, std::size_t set, Micros begun) {
    if (reach_.settled(set) > begun) {
        return std::nullopt;
    }
    const Reach::Members members = reach_.members_of(set);
    Micros best = Reach::never;
    Micros jitter = 0;
    for (std::size_t server = members.first; server < members.end; ++server) {
        best = knows(machine, server, begun) ? std::min(best, reach_.round_trip(machine, server)) : best;
        jitter = std::max(jitter, reach_.jitter(machine, server));
    }
    if (best == Reach::never) {
        return std::nullopt;
    }
    const Micros near = near_bound(best, jitter);
    for (std::size_t server = members.first; server < members.end; ++server) {
        const bool farther = reach_.round_trip(machine, server) > near;
        if (!farther && reach_.state(machine, server).replica && !knows(machine, server, begun) &&
            !knows_it_dead(machine, server, begun, near)) {
            return std::nullopt;
        }
    }
    return near + jitter + timers_late;
}

/// A read of one limit takes so long at most; 0: it has asked nobody.
std::optional<Micros> FarTruths::longest_read(const AppliedLimit& applied, std::size_t machine,
                                              Micros begun) {
    const bool asks_penalty = applied.penalty != nullptr && applied.penalty->asked;
    if (asks_penalty && applied.read_as().nodes() != ReadAs::From::any_node) {
        return std::nullopt;  // that of a bucket is asked of the primary
    }
    if (applied.limit.local || std::holds_alternative<std::monostate>(applied.asked)) {
        return asks_penalty ? longest_read_of_key(applied, machine, begun) : 0;
    }
    const bool reads = std::holds_alternative<Read>(applied.asked) &&
                       std::string_view(applied.limit.mode->name) == "check_charge" && !applied.bucket &&
                       applied.recalled != Recalled::to_confirm;
    return reads ? longest_read_of_key(applied, machine, begun) : std::nullopt;
}

/// A read of its key from any node takes so long at most.
std::optional<Micros> FarTruths::longest_read_of_key(const AppliedLimit& applied, std::size_t machine,
                                                     Micros begun) {
    const StoreSetup& store = plan_.servers.stores.front();
    if (!store.seeds.empty()) {
        std::optional<Micros> longest = 0;
        for (std::size_t set = 0; set < plan_.servers.slot_owners && longest; ++set) {
            const std::optional<Micros> one = longest_read(machine, set, begun);
            longest = one ? std::optional(std::max(*longest, *one)) : one;
        }
        return longest;
    }
    for (std::size_t set = 0; set < store.shards.size(); ++set) {
        if (store.shards[set].name == applied.shard().name()) {
            return longest_read(machine, set, begun);
        }
    }
    return std::nullopt;
}

/// A request, which reads all its limits at once, takes so long at most.
std::optional<Micros> FarTruths::longest_read(const ClientRequest& request, Micros begun) {
    std::optional<Micros> longest = 0;
    for (std::size_t i = 0; i < request.count() && longest; ++i) {
        const std::optional<Micros> one = longest_read(request.applied(i), Loop::current().machine, begun);
        longest = one ? std::optional(std::max(*longest, *one)) : one;
    }
    return longest;
}

void FarTruths::decided(const ClientRequest& request, Micros begun) {
    const Loop& loop = Loop::current();
    const auto started = started_.find(loop.pid());
    if (!asks_ || !has_exact_clock() || started == started_.end() || started->second + starts_in > begun ||
        reach_.ran_since(loop.machine) + starts_in > begun) {
        return;
    }
    const char* failure = nullptr;
    for (std::size_t i = 0; i < request.count(); ++i) {
        const bool local = request.applied(i).limit.local;
        failure = local || failure != nullptr ? failure : request.applied(i).failure;
    }
    const Micros waited = events_.now() - begun;
    std::optional<Micros> longest = longest_read(request, begun);
    const auto holds = [&] {
        return !longest || *longest == 0 || (waited <= *longest && failure == nullptr);
    };
    if (!holds()) {
        reach_.look();  // something may have happened just now
        longest = longest_read(request, begun);
    }
    if (!holds()) {
        truths_.fail("at machine " + std::to_string(loop.machine) + " a read has taken " +
                     std::to_string(waited) + " us, of " + std::to_string(*longest) +
                     " us that the nearest replica takes at most" + (failure != nullptr ? ": " : "") +
                     (failure != nullptr ? failure : ""));
    }
}

}  // namespace rate_limit::world
