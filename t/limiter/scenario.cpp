#include "t/limiter/scenario.h"

#include "limiter/charges/charges.h"

namespace rate_limit::world {

Machine& Scenario::machine(std::size_t number) {
    while (machines_.size() <= number) {
        const auto own = setups.find(machines_.size());
        machines_.push_back(std::make_unique<Machine>(events, own != setups.end() ? own->second : setup,
                                                      Loop::usual_wall_clock, WallClock{}, machines_.size()));
    }
    return *machines_[number];
}

WorkerProcess& Scenario::note(WorkerProcess& worker) {
    logs_.push_back(worker.loop().lines());
    return worker;
}

WorkerProcess& Scenario::worker(std::size_t number, std::size_t of) {
    Machine& where = machine(of);
    while (where.workers().size() <= number) {
        note(where.start_worker());
    }
    return *where.workers()[number];
}

bool Scenario::stop(WorkerProcess& worker, Msec at_most) {
    worker.leave();
    const bool ended = until(
        [&] {
            for (const auto& request : requests_) {
                if (request->is_of(worker) && request->is_concluded() && !request->is_over()) {
                    request->end();
                }
            }
            return !worker.is_kept() &&
                   std::all_of(requests_.begin(), requests_.end(),
                               [&](const auto& each) { return !each->is_of(worker) || each->is_over(); });
        },
        at_most);
    forget_requests(worker);
    for (const auto& each : machines_) {
        const auto& workers = each->workers();
        if (std::any_of(workers.begin(), workers.end(),
                        [&](const auto& one) { return one.get() == &worker; })) {
            each->end_worker(worker);
            break;
        }
    }
    return ended;
}

void Scenario::kill(std::size_t number, std::size_t of) {
    WorkerProcess& killed = worker(number, of);
    const auto log = killed.loop().lines();
    const std::size_t said = log->size();
    machine(of).kill_worker(killed, [&] { forget_requests(killed); });
    log->resize(said);  // it cannot say anything about its end
}

bool Scenario::stop_all() {
    bool ended = true;
    for (const auto& each : machines_) {
        for (const auto& one : each->workers()) {
            one->leave();
        }
        while (!each->workers().empty()) {
            ended = stop(*each->workers().front()) && ended;
        }
    }
    return ended;
}

void Scenario::reload(std::size_t of) {
    Machine& where = machine(of);
    const std::size_t count = where.workers().size();
    for (const auto& each : where.workers()) {
        each->leave();
    }
    for (std::size_t i = 0; i < count; ++i) {
        note(where.start_worker());
    }
}

std::size_t Scenario::end_leaving(std::size_t of) {
    std::vector<WorkerProcess*> gone;
    std::size_t leaving = 0;
    for (const auto& each : machine(of).workers()) {
        const bool busy = std::any_of(requests_.begin(), requests_.end(), [&each](const auto& request) {
            return request->is_of(*each) && !request->is_over();
        });
        if (each->loop().leaving) {
            ++leaving;
            if (!busy && !each->is_kept()) {
                gone.push_back(each.get());
            }
        }
    }
    for (WorkerProcess* const each : gone) {
        forget_requests(*each);
        machine(of).end_worker(*each);
    }
    return leaving - gone.size();
}

void Scenario::forget_requests(const WorkerProcess& worker) {
    requests_.erase(std::remove_if(requests_.begin(), requests_.end(),
                                   [&worker](const auto& request) { return request->is_of(worker); }),
                    requests_.end());
}

ClientRequest& Scenario::begin(RequestSetup request, WorkerProcess* at) {
    worker();
    const auto& workers = machine().workers();
    WorkerProcess& takes =
        at != nullptr ? *at : **std::find_if(workers.begin(), workers.end(), [](const auto& each) {
            return !each->loop().leaving;
        });
    requests_.push_back(std::make_unique<ClientRequest>(takes, std::move(request)));
    requests_.back()->begin();
    return *requests_.back();
}

std::string Scenario::ask(RequestSetup request, WorkerProcess* at) {
    ClientRequest& asking = begin(std::move(request), at);
    until([&asking] { return asking.is_concluded(); });
    if (asking.is_admitted()) {
        asking.end();
    }
    return outcome(asking);
}

std::size_t Scenario::admitted(std::size_t count, const RequestSetup& request, WorkerProcess* at) {
    std::size_t admitted = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const std::string decided = ask(request, at);
        admitted += decided == "PASSED" || decided == "ERROR_ALLOWED" || decided == "ERROR_LOCAL" ? 1 : 0;
    }
    return admitted;
}

void Scenario::let_connections_age() {
    pass(Charges::newness + 500);
}

bool Scenario::until(const std::function<bool()>& is_so, Msec at_most) {
    for (Msec passed = 0; !is_so(); ++passed) {
        if (passed == at_most) {
            return false;
        }
        pass(1);
    }
    return true;
}

std::vector<std::string> Scenario::lines() const {
    std::vector<std::string> all;
    for (const auto& log : logs_) {
        all.insert(all.end(), log->begin(), log->end());
    }
    return all;
}

std::size_t Scenario::logged(const std::string& pattern) const {
    const std::regex wanted(pattern);
    const std::vector<std::string> all = lines();
    return static_cast<std::size_t>(std::count_if(
        all.begin(), all.end(), [&wanted](const auto& line) { return std::regex_search(line, wanted); }));
}

void Scenario::forget_lines() {
    for (const auto& log : logs_) {
        log->clear();
    }
}

std::vector<Command> batches(const Scripted& server, const std::string& key) {
    std::vector<Command> found;
    for (const Command& words : server.commands("evalsha")) {
        if (is_batch(words) && words[3] == stored_key(key)) {
            found.push_back(words);
        }
    }
    return found;
}

}  // namespace rate_limit::world
