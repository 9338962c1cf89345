#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <vector>

#include "core/machine/records/debt_record.h"
#include "core/machine/windows/tokens.h"

namespace rate_limit {

/// A primary that answers at once, for one key: it holds one window after another.
class ModelPrimary {
public:
    struct Answer {
        std::int64_t granted = 0;
        Window window;
    };

    explicit ModelPrimary(const Rate& rate) : rate_(rate) {}

    /// Does what lua/reserve.lua does, for a window that begins with the first charge.
    Answer reserve(std::int64_t want, std::int64_t least, Millis now) {
        const bool open = is_open(window_, rate_.period, now);
        const std::int64_t used = open ? window_.used : 0;
        const std::int64_t left = std::max<std::int64_t>(0, rate_.limit - used);
        const std::int64_t granted = std::min({want, left, std::max(least, left / parts_of_rest)});
        if (granted < least || granted == 0) {
            return {0, {used, open ? window_.reset : 0}};
        }
        window_ = {used + granted, open ? window_.reset : now + rate_.period * 1000};
        return {granted, window_};
    }

    void refund(Millis reset, std::int64_t tokens, Millis now) {
        if (reset == window_.reset && now < reset) {
            window_.used = std::max<std::int64_t>(0, window_.used - tokens);
        }
    }

    const Window& window() const { return window_; }

private:
    Rate rate_;
    Window window_;
};

/// One machine whose requests spend tokens of one window, a token each, as in nginx's workers. A request that
/// finds no token takes a place in its worker's fetch; if that has no place left, it fetches one for itself.
class ModelMachine {
public:
    struct Counts {
        std::int64_t requests = 0;
        std::int64_t admitted = 0;
        std::int64_t rejected = 0;
        std::int64_t fetches = 0;
        std::int64_t refunds = 0;

        std::int64_t calls() const { return fetches + refunds; }
    };

    ModelMachine(ModelPrimary& primary, const Rate& rate, Millis round_trip, std::size_t workers)
        : primary_(primary), rate_(rate), round_trip_(round_trip), open_(workers) {
        record_.id = {7, 8};
    }

    void request(Millis now) {
        ++counts.requests;
        worker_ = (worker_ + 1) % open_.size();
        if (consume(record_, terms(now), 1)) {
            admit(record_.reset);
            if (may_fetch_ahead(record_, terms(now), round_trip_) && open_[worker_] == nullptr) {
                fetch(0, now);
            }
            return;
        }
        if (is_open(record_, rate_.period, now) && taken(record_) >= rate_.limit && !may_ask(record_, now)) {
            ++counts.rejected;
            return;
        }
        ask(now);
    }

    /// One millisecond passes, besides requests: answers of the primary arrive, and four times a second the
    /// machine looks for tokens to refund.
    void pass(Millis now) {
        for (; !fetches_.empty() && fetches_.front().answered_at <= now; fetches_.pop_front()) {
            take_answer(fetches_.front(), now);
        }
        if (now % 250 == 0) {
            look(now);
        }
    }

    std::int64_t held(Millis now) const {
        return is_open(record_, rate_.period, now) ? static_cast<std::int64_t>(record_.leased) : 0;
    }

    std::int64_t batch(Millis now) const { return batch_size(record_, terms(now)); }

    /// How many requests were admitted into each window; windows are named by their ends.
    const std::map<Millis, std::int64_t>& windows() const { return windows_; }

    Counts counts;

private:
    struct Fetch {
        Millis answered_at = 0;
        ModelPrimary::Answer answer;
        std::int64_t waiting = 0;
        std::int64_t places = 0;
        std::uint32_t events = 0;
        std::size_t worker = 0;
        std::uint32_t pace = 0;
    };

    Terms terms(Millis now) const { return {rate_, Truth::redis, now + rate_.period * 1000, now}; }

    void admit(Millis reset) {
        ++counts.admitted;
        ++windows_[reset];
    }

    void ask(Millis now) {
        Fetch* const open = open_[worker_];
        if (open != nullptr && open->places > 0) {
            --open->places;
            ++open->waiting;
        } else {
            fetch(1, now);
        }
    }

    void fetch(std::int64_t waiting, Millis now) {
        const Fetch* const before = open_[worker_];
        const bool batched = before == nullptr || before->places == 0;
        std::int64_t size = 1;
        if (batched) {
            size =
                begin_fetch(record_, terms(now), before != nullptr ? next_pace(before->pace, 0, rate_) : 0);
            note(now + rate_.period * 1000, 0, now);
        }
        const auto events = static_cast<std::uint32_t>(record_.events);
        fetches_.push_back({now + round_trip_, primary_.reserve(size, 1, now), waiting, size - waiting,
                            events, worker_, static_cast<std::uint32_t>(record_.pace)});
        open_[worker_] = batched ? &fetches_.back() : open_[worker_];
        ++counts.fetches;
    }

    void take_answer(Fetch& fetch, Millis now) {
        if (open_[fetch.worker] == &fetch) {
            open_[fetch.worker] = nullptr;
        }
        const ModelPrimary::Answer& answer = fetch.answer;
        const bool kept = grant(record_, terms(now), answer.window, answer.granted, {fetch.events, 0, 6000});
        record_.pace = std::max<std::uint32_t>(record_.pace, fetch.pace);
        std::int64_t tokens = kept ? 0 : answer.granted;
        std::int64_t handed_out = 0;
        for (; fetch.waiting > 0 && (kept ? consume(record_, terms(now), 1) : tokens-- > 0);
             --fetch.waiting) {
            admit(answer.window.reset);
            ++handed_out;
        }
        if (kept && answer.granted > handed_out) {
            note(answer.window.reset, answer.granted - handed_out, now);
        }
        counts.rejected += fetch.waiting;
    }

    /// Notes the tokens as Hoard::note() does in the zone.
    void note(Millis reset, std::int64_t tokens, Millis now) {
        if (note_.reset != reset && (tokens != 0 || note_.reset <= now)) {
            note_.reset = reset;
            note_.tokens.count = 0;
            note_.tokens.looked_at = now;
        }
        note_.tokens.count += tokens;
    }

    void look(Millis now) {
        const Millis since = now - note_.tokens.looked_at;
        const Millis interval = lease_interval(rate_.period);
        if (note_.reset <= now ||
            (since < interval && (note_.reset - now > interval || since * 4 < interval))) {
            return;
        }
        std::int64_t back = 0;
        if (record_.reset == note_.reset && is_open(record_, rate_.period, now)) {
            back =
                take_surplus(record_, {note_.tokens.count, note_.tokens.looked_at, now, rate_.period, false});
        }
        const std::int64_t at_hand = record_.reset == note_.reset ? held(now) : 0;
        const bool unused = note_.tokens.count == back;
        note_.tokens.count = at_hand;
        note_.tokens.looked_at = now;
        note_.reset = note_.tokens.count == 0 && unused ? 0 : note_.reset;
        if (back != 0) {
            primary_.refund(record_.reset, back, now);
            ++counts.refunds;
        }
    }

    ModelPrimary& primary_;
    const Rate rate_;
    const Millis round_trip_;
    WindowRecord record_;
    DebtRecord note_;
    std::deque<Fetch> fetches_;  // on their way, each answered after the one before it
    std::vector<Fetch*> open_;   // for each worker: its open fetch
    std::size_t worker_ = 0;
    std::map<Millis, std::int64_t> windows_;
};

/// When requests arrive: at an even rate, either all the time or in bursts.
struct Arrivals {
    double rate = 0;   ///< requests in a second
    Millis burst = 0;  ///< how long a burst lasts; 0: requests arrive all the time
    Millis every = 0;  ///< how long it is from the start of one burst to that of the next

    /// How many requests arrive in the millisecond `at`, counted from the start.
    std::int64_t in(Millis at) const {
        if (burst != 0 && at % every >= burst) {
            return 0;
        }
        const auto before = static_cast<double>(at);
        return static_cast<std::int64_t>(std::floor((before + 1) * rate / 1000) -
                                         std::floor(before * rate / 1000));
    }
};

/// Machines that share one primary.
class LeaseModel {
public:
    explicit LeaseModel(const Rate& rate, Millis round_trip = 1)
        : primary(rate), rate_(rate), round_trip_(round_trip) {}

    void add(const Arrivals& arrivals, std::size_t workers = 1) {
        arrivals_.push_back(arrivals);
        machines_.emplace_back(primary, rate_, round_trip_, workers);
    }

    /// Lets this many milliseconds pass, but stops as soon as `go_on` returns false.
    void run(
        Millis length, const std::function<bool()>& go_on = [] { return true; }) {
        const Millis end = elapsed + length;
        for (; elapsed < end && go_on(); ++elapsed) {
            const Millis at = start + elapsed;
            for (std::size_t i = 0; i < machines_.size(); ++i) {
                machines_[i].pass(at);
                for (std::int64_t n = arrivals_[i].in(elapsed); n > 0; --n) {
                    machines_[i].request(at);
                }
            }
        }
    }

    Millis now() const { return start + elapsed; }
    ModelMachine& machine(std::size_t i) { return machines_[i]; }

    ModelPrimary primary;
    Millis elapsed = 0;

private:
    static constexpr Millis start = 1'700'000'000'000;

    const Rate rate_;
    const Millis round_trip_;
    std::vector<Arrivals> arrivals_;
    std::vector<ModelMachine> machines_;
};

}  // namespace rate_limit
