#include "t/worlds/operators.h"

#include <algorithm>
#include <array>
#include <map>

#include "limiter/client_id.h"
#include "limiter/store_conf.h"
#include "limiter/tallies/tallies.h"
#include "limiter/zone.h"

namespace rate_limit::world {

namespace {

constexpr std::int64_t keys = 3;

std::string name_of_key(std::size_t key) {
    return "operated" + std::to_string(key);
}

/// Longer than any world lasts, by any clock.
constexpr Millis life = 86'400'000;

}  // namespace

/// One order, at one worker. It lives until the next order there, or until the worker ends.
class Operators::Act final : private Answer::Owner {
public:
    Act(Operators& operators, WorkerProcess& worker, std::size_t key, OverrideKind kind)
        : operators_(operators), worker_(worker), key_(key), kind_(kind), begun_(operators.events_.now()) {}
    Act(const Act&) = delete;
    Act& operator=(const Act&) = delete;
    ~Act() {
        worker_.loop().turn([this] { change_.cancel(); });
    }

    void begin() {
        worker_.loop().turn([this] {
            const StoreConf& store = *worker_.configuration().stores.front();
            const std::string name = name_of_key(key_);
            Override what;
            what.subject = {limit_digest(store.name, operators_.limit_),
                            client_id(*store.zone, store.name, operators_.limit_, name)};
            what.kind = kind_;
            what.from = now_millis();
            what.until = what.from + life;
            what.by = "operator";
            if (!change_.start(store, what, write_field({operators_.limit_, name}), *this)) {
                over_ = true;
            }
        });
    }

    bool is_at(const WorkerProcess& worker) const noexcept { return &worker_ == &worker; }
    bool is_over() const noexcept { return over_; }
    std::size_t key() const noexcept { return key_; }
    OverrideKind kind() const noexcept { return kind_; }
    Micros begun() const noexcept { return begun_; }

private:
    void on_answer(Answer& /*answer*/) noexcept override {
        over_ = true;
        operators_.end(*this, change_.trouble());
    }

    Operators& operators_;
    WorkerProcess& worker_;
    const std::size_t key_;
    const OverrideKind kind_;
    const Micros begun_;
    bool over_ = false;
    SharedChange change_;
};

Operators::Operators(Events& events, const Plan& plan, Machines& machines, TurnWatch& turns, EventLog& log)
    : events_(events),
      plan_(plan),
      machines_(machines),
      turns_(turns),
      log_(log),
      chance_(plan.operators.course) {
    const StoreSetup& store = plan.setups.front().stores.front();
    for (const LimitSetup& limit : plan.traffic.limits) {
        limit_ = limit.store == store.name ? limit.name : limit_;
    }
    if (store.shares_overrides && !limit_.empty()) {
        events_.in(1'000, [this] { come(); });
    }
}

Operators::~Operators() = default;

/// One at a time, or some at once.
void Operators::come() {
    if (events_.now() >= plan_.lasts) {
        return;
    }
    constexpr std::array<OverrideKind, 3> kinds{OverrideKind::ban, OverrideKind::allow, OverrideKind::none};
    acts_.remove_if([](const Act& act) { return act.is_over(); });
    for (std::int64_t i = chance_.percent(70) ? 1 : 3; i > 0; --i) {
        const Machines::Choice at = machines_.choose(chance_);
        const auto key = static_cast<std::size_t>(chance_.below(keys));
        const OverrideKind kind = chance_.one_of(kinds);
        if (at.worker != nullptr && !at.worker->loop().stalls()) {
            begin(*at.worker, key, kind);
        }
    }
    events_.in(1 + chance_.below(2 * plan_.operators.pause), [this] { come(); });
}

void Operators::begin(WorkerProcess& worker, std::size_t key, OverrideKind kind) {
    log_.add("an operator sets key ", key, " to ", to_string(kind));
    turns_.count_reason();
    acts_.emplace_back(*this, worker, key, kind).begin();
}

void Operators::end(const Act& act, SharedChange::Trouble trouble) {
    turns_.count_reason();
    const bool sure = trouble == SharedChange::Trouble::none;
    log_.add("what an operator set key ", act.key(), " to ", to_string(act.kind()), " at ", act.begun(),
             sure                                         ? " is set"
             : trouble == SharedChange::Trouble::in_doubt ? " is in doubt"
                                                          : " is not set");
    if (sure || trouble == SharedChange::Trouble::in_doubt) {
        done_.push_back({act.key(), act.kind(), act.begun(), sure ? events_.now() : never});
    }
}

bool Operators::uses(const WorkerProcess& worker) const {
    return std::any_of(acts_.begin(), acts_.end(),
                       [&worker](const Act& act) { return act.is_at(worker) && !act.is_over(); });
}

void Operators::forget(const WorkerProcess& worker) {
    for (const Act& act : acts_) {
        if (act.is_at(worker) && !act.is_over()) {
            done_.push_back({act.key(), act.kind(), act.begun(), never});
        }
    }
    acts_.remove_if([&worker](const Act& act) { return act.is_at(worker); });
}

/// Whether the key may be so: something has perhaps made it so, and nothing that is known has replaced that
/// since.
bool Operators::is_possible(std::size_t key, OverrideKind kind) const {
    const auto is_replaced = [&](Micros ended) {
        return std::any_of(done_.begin(), done_.end(), [&](const Done& later) {
            return later.key == key && later.ended != never && later.begun > ended;
        });
    };
    return (kind == OverrideKind::none && !is_replaced(-1)) ||
           std::any_of(done_.begin(), done_.end(), [&](const Done& done) {
               return done.key == key && done.kind == kind && !is_replaced(done.ended);
           });
}

void Operators::check(bool lost, Truths& truths) {
    if (limit_.empty() || plan_.machines.has(MachineFault::change)) {
        return;  // another configuration may have them at another shard
    }
    std::map<std::size_t, OverrideKind> first;
    machines_.for_each([&](Machine& machine) {
        machine.workers().front()->loop().turn([&] {
            const StoreConf& store = *machine.workers().front()->configuration().stores.front();
            std::map<std::uint64_t, OverrideKind> all;
            for (const Override& what : store.zone->overrides().read(now_millis())) {
                all[what.subject.key] = what.kind;
            }
            for (std::size_t key = 0; key < static_cast<std::size_t>(keys); ++key) {
                const auto found = all.find(client_id(*store.zone, store.name, limit_, name_of_key(key)));
                const OverrideKind kind = found != all.end() ? found->second : OverrideKind::none;
                const std::string is =
                    "operators' key " + std::to_string(key) + " is \"" + std::string(to_string(kind)) + '"';
                if (first.try_emplace(key, kind).first->second != kind) {
                    truths.fail(is + " on one machine, and not on another");
                } else if (!lost && !is_possible(key, kind)) {
                    truths.fail(is + ", and was set to something else");
                }
            }
        });
    });
}

}  // namespace rate_limit::world
