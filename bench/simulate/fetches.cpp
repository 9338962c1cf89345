#include "bench/simulate/fetches.h"

#include <algorithm>
#include <utility>

#include "bench/simulate/charges.h"
#include "bench/simulate/machine.h"
#include "bench/simulate/request.h"
#include "bench/simulate/world.h"

namespace rate_limit::simulated {

void Fetch::answered(Message& message) {
    of->close(*this);
    if (number != 0) {
        of->unanswered_.erase(key);
    }
    of->hand_out(*this, message.granted, message.window);
}

void Fetch::lost(Message& /*message*/, bool sent) {
    of->close(*this);
    if (sent && number != 0) {
        Fetches::Unanswered& kept = of->unanswered_[key];
        kept = {number, std::max(want, kept.want)};
    }
    of->fail(*this);
}

void Fetch::killed() {
    for (Request* seat : seats) {
        seat->killed();
    }
    of->world_.fetches.put_back(*this);
}

void Fetches::fetch(Request& request) {
    const auto found = open_.find(request.key);
    if (found != open_.end() && found->second->unclaimed >= 1 && primary_.usable()) {
        --found->second->unclaimed;
        found->second->seats.push_back(&request);
        return;
    }
    Fetch& fetch = start(request.key, 1);
    --fetch.unclaimed;
    fetch.seats.push_back(&request);
    submit(fetch);
}

void Fetches::fetch_ahead(Key key) {
    if (primary_.usable() && open_.find(key) == open_.end()) {
        submit(start(key, 0));
    }
}

Fetch& Fetches::take(Key key, bool& opens) {
    Fetch& fetch = world_.fetches.take();
    fetch.of = this;
    fetch.key = key;
    fetch.seats.clear();
    fetch.unclaimed = 0;
    fetch.want = 0;
    fetch.least = 0;
    fetch.number = 0;
    fetch.events = 0;
    opens = opens && open_.emplace(key, &fetch).second;
    return fetch;
}

/// Decides how many tokens to ask for.
Fetch& Fetches::start(Key key, std::int64_t want) {
    bool batched = true;
    Fetch& fetch = take(key, batched);
    Machine& machine = worker_.machine();
    const Terms terms = machine.terms();
    std::int64_t here = 0;
    std::int64_t size = 0;
    Millis reset = terms.proposed;
    const bool room = machine.windows().update(world_.id_of(key), terms.now, [&](WindowRecord& record) {
        if (is_open(record, terms.rate.period, terms.now)) {
            here = at_hand(record);
            reset = record.reset;
        }
        size = batched ? begin_fetch(record, terms) : 0;
        fetch.events = static_cast<std::uint32_t>(record.events);
    });
    fetch.least = std::max<std::int64_t>(1, want - here);
    fetch.want = fetch.least;
    fetch.unclaimed = want;
    if (batched && size < want) {
        close(fetch);
    } else if (batched && room && size > want) {
        machine.note(key, reset, 0);
        fetch.want = size;
        fetch.unclaimed = size;
        const auto before = unanswered_.find(key);
        fetch.number = before != unanswered_.end() ? before->second.number : worker_.next_number();
    }
    return fetch;
}

void Fetches::submit(Fetch& fetch) {
    if (!primary_.usable()) {
        close(fetch);
        fail(fetch);
        return;
    }
    charges_.go_before(fetch.key);
    const Terms terms = worker_.machine().terms();
    Message& message = primary_.take(Command::reserve, fetch.key, fetch);
    message.opening = {{}, terms.now, terms.proposed, latest_reset(terms.rate.period, terms.now)};
    message.wanted = {
        terms.rate.limit, fetch.want, fetch.least, parts_of_rest, 0, 0, {worker_.name(), fetch.number}};
    primary_.send(message);
}

void Fetches::close(const Fetch& fetch) noexcept {
    const auto found = open_.find(fetch.key);
    if (found != open_.end() && found->second == &fetch) {
        open_.erase(found);
    }
}

void Fetches::fail(Fetch& fetch) {
    worker_.machine().windows().change(world_.id_of(fetch.key), end_fetch);
    const std::vector<Request*> seats = std::move(fetch.seats);
    world_.fetches.put_back(fetch);
    for (Request* seat : seats) {
        seat->failed();
    }
}

void Fetches::ask_again() {
    if (!primary_.usable()) {
        return;
    }
    for (const auto& [key, batch] : std::unordered_map<Key, Unanswered>(unanswered_)) {
        bool opens = true;
        if (open_.find(key) != open_.end()) {
            continue;
        }
        Fetch& fetch = take(key, opens);
        fetch.number = batch.number;
        worker_.machine().windows().change(world_.id_of(key), [&fetch](WindowRecord& record) {
            fetch.events = static_cast<std::uint32_t>(record.events);
        });
        submit(fetch);
    }
}

void Fetches::kill() {
    open_.clear();
    unanswered_.clear();
}

void Fetches::hand_out(Fetch& fetch, std::int64_t granted, const Window& answer) {
    Machine& machine = worker_.machine();
    const Key key = fetch.key;
    const bool live = is_open(answer, world_.setup.rate.period, machine.now());
    Sharing sharing;
    sharing.waiting = std::move(fetch.seats);
    if (!hand_out_here(fetch, granted, answer, sharing)) {
        hand_out_there(fetch, live ? granted : 0, answer, sharing);
    } else if (granted > static_cast<std::int64_t>(sharing.served.size())) {
        machine.note(key, answer.reset, granted - static_cast<std::int64_t>(sharing.served.size()));
    }
    world_.fetches.put_back(fetch);
    tell(sharing, answer, !live && granted != 0);
}

bool Fetches::hand_out_here(const Fetch& fetch, std::int64_t granted, const Window& answer,
                            Sharing& sharing) {
    Machine& machine = worker_.machine();
    const Terms terms = machine.terms();
    const Question question = machine.question(fetch.key, fetch.events);
    bool kept = false;
    (void)machine.windows().update(world_.id_of(fetch.key), terms.now, [&](WindowRecord& record) {
        kept = grant(record, terms, answer, granted, question);
        if (!kept) {
            return;
        }
        std::vector<Request*> left;
        for (Request* seat : sharing.waiting) {
            (consume(record, terms, 1) ? sharing.served : left).push_back(seat);
        }
        sharing.waiting.swap(left);
        sharing.left_here = at_hand(record);
    });
    return kept;
}

void Fetches::hand_out_there(const Fetch& fetch, std::int64_t granted, const Window& answer,
                             Sharing& sharing) {
    std::vector<Request*> left;
    std::int64_t tokens = granted;
    for (Request* seat : sharing.waiting) {
        (tokens > 0 ? sharing.served : left).push_back(seat);
        tokens -= tokens > 0 ? 1 : 0;
    }
    sharing.waiting.swap(left);
    if (tokens != 0) {
        charges_.refund(fetch.key, tokens, answer.reset);
    }
}

void Fetches::tell(Sharing& sharing, const Window& answer, bool too_late) {
    for (Request* seat : sharing.served) {
        seat->served(1, answer);
    }
    for (Request* seat : sharing.waiting) {
        const std::int64_t missing = 1 - sharing.left_here;
        if (too_late || (missing > 0 && missing <= world_.setup.rate.limit - answer.used)) {
            fetch(*seat);
        } else {
            seat->served(0, answer);
        }
    }
}

}  // namespace rate_limit::simulated
