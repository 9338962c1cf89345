#pragma once

#include <chrono>
#include <cstdint>
#include <ostream>
#include <string>

#include "t/worlds/command.h"
#include "t/worlds/violation.h"

namespace rate_limit::world {

/// Worlds that run one after another, and what they came to.
class Runs {
    using Clock = std::chrono::steady_clock;

public:
    /// `out`: for what does not hold, and for the last line. `err`: for how long it took. Both outlive it.
    /// `places`: of the worlds that run() runs.
    Runs(std::ostream& out, std::ostream& err, Places places = Places::one) noexcept
        : out_(out), err_(err), places_(places) {}

    void run(std::uint64_t seed) {
        const Plan plan(seed, places_);
        add(plan, run_world(plan, nullptr));
    }

    /// Tells all events of one.
    void tell(const Plan& plan) {
        const Outcomes seen = run_world(plan, &out_);
        for (const std::string& failure : seen.failures) {
            out_ << "seed " << plan.seed << ": " << failure << '\n';
        }
        count(seen);
    }

    /// One has run.
    void add(const Plan& plan, const Outcomes& seen) {
        count(seen);
        if (!seen.failures.empty()) {
            tell_violation(plan, seen, out_);
            out_.flush();
        }
    }

    /// The status with which the program ends: 1 where something did not hold. Throws Usage where none has
    /// run.
    int end() const {
        if (worlds_ == 0) {
            throw Usage("there is no world to run");
        }
        out_ << worlds_ << " worlds, " << hours_ << " virtual hours, " << requests_ << " requests, "
             << violations_ << " worlds in which something did not hold\n";
        const std::chrono::duration<double> took = age();
        err_ << took.count() << " s\n";
        return violations_ != 0 ? 1 : 0;
    }

    Clock::duration age() const { return Clock::now() - begun_; }

private:
    void count(const Outcomes& seen) {
        ++worlds_;
        requests_ += seen.requests;
        violations_ += seen.failures.empty() ? 0 : 1;
        hours_ += static_cast<double>(seen.time) / 3'600'000'000.0;
    }

    std::ostream& out_;
    std::ostream& err_;
    const Places places_;
    const Clock::time_point begun_ = Clock::now();
    std::uint64_t worlds_ = 0;
    std::uint64_t requests_ = 0;
    std::uint64_t violations_ = 0;
    double hours_ = 0;
};

}  // namespace rate_limit::world
