#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/slots/shared_slots.h"
#include "own_places.h"
#include "table_memory.h"

namespace rate_limit {

/// The primary of one key: does what lua/hold.lua does.
class ModelHolders {
public:
    SlotsAnswer ask(int me, const SlotsCall& call, Millis now) {
        std::int64_t others = 0;
        for (auto at = fields_.begin(); at != fields_.end();) {
            if (at->first != me && at->second.deadline <= now) {
                at = fields_.erase(at);
                continue;
            }
            others += at->first == me ? 0 : at->second.slots;
            ++at;
        }
        const auto mine = fields_.find(me);
        const bool valid = mine != fields_.end() && mine->second.deadline > now;
        const std::int64_t standing = valid ? mine->second.slots : 0;
        if (mine != fields_.end() && mine->second.number > call.number) {
            return {standing, others, mine->second.number};
        }
        std::int64_t got = std::min(call.want, std::max(standing, call.limit - others));
        got = got < call.least ? call.least - 1 : got;
        if (got == 0 && call.least > 0) {
            fields_.erase(me);
        } else {
            fields_[me] = {got, now + call.ttl, call.number};
        }
        return {got, others, call.number};
    }

    std::int64_t valid(Millis now) const {
        std::int64_t sum = 0;
        for (const auto& field : fields_) {
            sum += field.second.deadline > now ? field.second.slots : 0;
        }
        return sum;
    }

private:
    struct Field {
        std::int64_t slots = 0;
        Millis deadline = 0;
        std::int64_t number = 0;
    };
    std::map<int, Field> fields_;
};

/// How often things go wrong; each is the probability for one call or one millisecond.
struct Faults {
    double lost = 0;            ///< a call never arrives
    double unanswered = 0;      ///< its answer does not
    double late = 0;            ///< it takes up to two seconds
    double killed_worker = 0;   ///< in a millisecond, on any machine
    double killed_machine = 0;  ///< in a millisecond
    double failover = 0;        ///< the primary forgets what came in the last 200 ms
};

/// Machines whose workers let requests of one key run, in simulated time of one millisecond a step.
class SlotsModel {
public:
    SlotsModel(unsigned seed, std::int64_t limit, int machines, int workers, const Faults& faults)
        : random_(seed), limit_(limit), workers_(workers), faults_(faults) {
        for (int i = 0; i < machines; ++i) {
            machines_.push_back(std::make_unique<Machine>(++names_, clock_of_next()));
            while (static_cast<int>(machines_.back()->workers.size()) < workers_) {
                add_worker(*machines_.back());
            }
        }
    }

    /// Lets time pass; in each millisecond so many requests come, on average. `look` sees each millisecond.
    void run(
        Millis length, double arrivals, const std::function<void()>& look = [] {}) {
        for (const Millis end = now + length; now < end; ++now) {
            happen();
            deliver();
            for (double left = arrivals; chance(left); left -= 1) {
                Machine& machine = *machines_[random_() % machines_.size()];
                come(machine, *machine.workers[random_() % machine.workers.size()], now + 100);
            }
            end_requests();
            if (now % 50 == 0) {
                for (const auto& machine : machines_) {
                    walk(*machine);
                }
            }
            look();
        }
    }

    /// All machines are gone; nothing that they sent arrives any more.
    void silence() {
        machines_.clear();
        messages_.clear();
    }

    std::int64_t running_now() const {
        std::int64_t sum = 0;
        for (const auto& machine : machines_) {
            for (const auto& worker : machine->workers) {
                sum += static_cast<std::int64_t>(worker->ends.size());
            }
        }
        return sum;
    }

    /// Whether each machine's record says what runs there, once nobody changes it.
    bool counts_are_right() {
        return std::all_of(machines_.begin(), machines_.end(), [](const auto& machine) {
            std::size_t runs = 0;
            for (const auto& worker : machine->workers) {
                runs += worker->ends.size();
            }
            return machine->workers[0]->slots.recall(key).running == runs;
        });
    }

    ModelHolders redis;
    Millis now = table_now;
    Millis failed_over = 0;  ///< when the primary last forgot something
    std::int64_t admitted = 0;
    std::int64_t calls = 0;
    Millis longest = 3000;  ///< that a request runs

    static constexpr WindowId key{77, 88};
    static constexpr Millis ttl = 30'000;
    static constexpr Millis patience = 100;

private:
    struct Worker {
        Worker(const TableMemory& memory, WorkerPlaces& places, const Process& self)
            : pid(self.pid),
              table(view_of(memory, LockUser{self, lives})),
              slots(table, places, places.take({self, lives}).value()) {}
        Worker(const Worker&) = delete;
        Worker& operator=(const Worker&) = delete;
        ~Worker() = default;

        std::uint32_t pid;
        WindowTable table;
        SharedSlots slots;
        std::vector<Millis> ends;                        // when its requests end
        std::vector<std::pair<Millis, Millis>> waiting;  // when each tries again, and when it gives up
    };
    struct Machine {
        Machine(int number, Millis difference)
            : name(number), clock(difference), table(100), places(std::make_unique<OwnPlaces>()) {}
        int name;
        Millis clock;
        TestTable table;
        std::unique_ptr<OwnPlaces> places;
        std::vector<std::unique_ptr<Worker>> workers;
    };
    struct Message {
        int machine;
        std::uint32_t worker;
        SlotsCall call;
        Millis arrives;
        Millis answered;
        bool is_answer;
        SlotsAnswer answer;
    };

    static std::set<std::uint32_t>& dead() {
        static std::set<std::uint32_t> pids;
        return pids;
    }
    static bool lives(const Process& process) { return dead().count(process.pid) == 0; }

    bool chance(double probability) {
        return std::uniform_real_distribution<double>(0, 1)(random_) < probability;
    }
    Millis between(Millis least, Millis most) {
        return std::uniform_int_distribution<Millis>(least, most)(random_);
    }
    Millis clock_of_next() { return between(-10'000, 10'000); }
    SlotsTerms terms(const Machine& machine) const {
        return {limit_, Truth::redis, ttl, patience, now + machine.clock};
    }

    void add_worker(Machine& machine) {
        static std::uint32_t pids = 1000;
        machine.workers.push_back(
            std::make_unique<Worker>(machine.table.memory, *machine.places, Process{++pids, 1}));
    }

    void send(const Machine& machine, const Worker& worker, const SlotsCall& call) {
        ++calls;
        if (chance(faults_.lost)) {
            return;
        }
        const bool late = chance(faults_.late);
        const Millis arrives = now + (late ? between(50, 2000) : between(0, 4));
        const Millis answered =
            chance(faults_.unanswered) ? never_due : arrives + (late ? between(50, 2000) : between(0, 4));
        messages_.push_back({machine.name, worker.pid, call, arrives, answered, false, {}});
    }

    void come(Machine& machine, Worker& worker, Millis until) {
        const SlotsEntry entry = worker.slots.enter(key, terms(machine));
        if (entry.outcome == SlotsOutcome::admitted) {
            ++admitted;
            worker.ends.push_back(now + between(1, longest));
        } else if (now < until &&
                   (entry.outcome == SlotsOutcome::ask || entry.outcome == SlotsOutcome::wait)) {
            worker.waiting.emplace_back(now + 2, until);
        }
        if (entry.outcome == SlotsOutcome::ask) {
            send(machine, worker, entry.call);
        }
    }

    void deliver() {
        std::shuffle(messages_.begin(), messages_.end(), random_);
        std::vector<Message> due;
        const auto later = std::partition(messages_.begin(), messages_.end(), [this](const Message& m) {
            return (m.is_answer ? m.answered : m.arrives) <= now;
        });
        due.assign(messages_.begin(), later);
        messages_.erase(messages_.begin(), later);
        for (Message& message : due) {
            if (!message.is_answer) {
                message.answer = redis.ask(message.machine, message.call, now + redis_clock);
                message.is_answer = true;
                if (message.answered != never_due) {
                    messages_.push_back(message);
                }
                continue;
            }
            for (const auto& machine : machines_) {
                for (const auto& worker : machine->workers) {
                    if (worker->pid == message.worker) {
                        worker->slots.learn(key, terms(*machine), message.call, message.answer);
                        send_due(*machine, *worker);
                    }
                }
            }
        }
        wake();
    }

    void wake() {
        for (const auto& machine : machines_) {
            for (const auto& worker : machine->workers) {
                const auto waited = std::exchange(worker->waiting, {});
                for (const auto& [at, until] : waited) {
                    if (at > now) {
                        worker->waiting.emplace_back(at, until);
                    } else {
                        come(*machine, *worker, until);
                    }
                }
            }
        }
    }

    void end_requests() {
        for (const auto& machine : machines_) {
            for (const auto& worker : machine->workers) {
                auto& ends = worker->ends;
                for (std::size_t i = ends.size(); i-- > 0;) {
                    if (ends[i] > now) {
                        continue;
                    }
                    ends.erase(ends.begin() + static_cast<std::ptrdiff_t>(i));
                    if (const auto call = worker->slots.leave(key, terms(*machine))) {
                        send(*machine, *worker, *call);
                    }
                }
            }
        }
    }

    void send_due(Machine& machine, Worker& worker) {
        if (const auto call = worker.slots.due(key, terms(machine))) {
            send(machine, worker, *call);
        }
    }

    void walk(Machine& machine) { send_due(machine, *machine.workers[random_() % machine.workers.size()]); }

    void happen() {
        if (now % 200 == 0) {
            before_ = redis_then_;
            redis_then_ = redis;
        }
        if (chance(faults_.failover)) {
            redis = before_;
            failed_over = now;
        }
        if (chance(faults_.killed_worker)) {
            Machine& machine = *machines_[random_() % machines_.size()];
            auto& victim = machine.workers[random_() % machine.workers.size()];
            dead().insert(victim->pid);
            victim.swap(machine.workers.back());
            machine.workers.pop_back();
            add_worker(machine);
        }
        if (chance(faults_.killed_machine)) {
            auto& victim = machines_[random_() % machines_.size()];
            victim = std::make_unique<Machine>(++names_, clock_of_next());
            while (static_cast<int>(victim->workers.size()) < workers_) {
                add_worker(*victim);
            }
        }
    }

    static constexpr Millis redis_clock = 12'345;

    std::mt19937 random_;
    const std::int64_t limit_;
    const int workers_;
    int names_ = 0;
    const Faults faults_;
    std::vector<std::unique_ptr<Machine>> machines_;
    std::vector<Message> messages_;
    ModelHolders redis_then_;
    ModelHolders before_;
};

}  // namespace rate_limit
