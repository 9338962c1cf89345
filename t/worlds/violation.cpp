#include "t/worlds/violation.h"

#include <algorithm>
#include <exception>
#include <numeric>
#include <sstream>
#include <utility>

#include "t/world/last_words.h"
#include "t/worlds/random_world.h"

namespace rate_limit::world {

namespace {

constexpr std::size_t events_told = 100;

bool fails(const Plan& plan) {
    return !run_world(plan, nullptr).failures.empty();
}

/// Leaves as many faults out together as can be: halves of them, then quarters, and so on. The end of a site
/// is many.
void leave_out_parts(const Plan& plan, std::vector<std::size_t>& kept) {
    for (std::size_t part = kept.size() / 2; part > 1; part /= 2) {
        for (std::size_t end = kept.size(); end > 0;) {
            const std::size_t begin = end - std::min(part, end);
            std::vector<std::size_t> fewer = kept;
            fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(begin),
                        fewer.begin() + static_cast<std::ptrdiff_t>(end));
            if (fails(plan.with_faults(fewer))) {
                kept = std::move(fewer);
            }
            end = begin;
        }
    }
}

/// The numbers of faults, in the plan, none of which can be left out if something is not to hold: tries it
/// with each, the last first, as long as any can be.
std::vector<std::size_t> needed_faults(const Plan& plan) {
    std::vector<std::size_t> kept(plan.fault_count());
    std::iota(kept.begin(), kept.end(), std::size_t{0});
    leave_out_parts(plan, kept);
    for (bool shorter = true; shorter;) {
        shorter = false;
        for (std::size_t i = kept.size(); i-- > 0;) {
            std::vector<std::size_t> fewer = kept;
            fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
            if (fails(plan.with_faults(fewer))) {
                kept = std::move(fewer);
                shorter = true;
            }
        }
    }
    return kept;
}

void tell_last_lines(const std::string& text, std::ostream& to) {
    std::size_t begin = text.size();
    for (std::size_t lines = 0; begin > 0 && lines <= events_told; --begin) {
        lines += text[begin - 1] == '\n' ? 1 : 0;
    }
    to << text.substr(begin == 0 ? 0 : begin + 1);
}

}  // namespace

Outcomes run_world(const Plan& plan, std::ostream* log) {
    const LastWords words(plan.seed, LastWords::longest, plan.kind());
    try {
        RandomWorld world(plan, log);
        std::vector<std::string> failures = world.run();
        return {std::move(failures), world.requests(), world.events(), world.time()};
    } catch (const std::exception& thrown) {
        return {{std::string("the world has thrown: ") + thrown.what()}, 0, 0, 0};
    }
}

void tell_violation(const Plan& plan, const Outcomes& seen, std::ostream& to) {
    for (const std::string& failure : seen.failures) {
        to << "seed " << plan.seed << ": " << failure << '\n';
    }
    to << "after " << seen.events
       << " events; faults none of which can be left out, with which something does not hold:\n";
    const std::vector<std::size_t> faults = needed_faults(plan);
    std::string numbers;
    for (const std::size_t number : faults) {
        to << "  fault " << number << ": " << plan.describe_fault(number) << '\n';
        numbers += (numbers.empty() ? "" : ",") + std::to_string(number);
    }
    std::ostringstream log;
    const Outcomes alone = run_world(plan.with_faults(faults), &log);
    to << "with " << (faults.empty() ? "no fault" : "these alone") << ", the last events:\n";
    tell_last_lines(log.str(), to);
    for (const std::string& failure : alone.failures) {
        to << "  " << failure << '\n';
    }
    const std::string seed = plan.kind() + ("SEED=" + std::to_string(plan.seed));
    to << "see it again: make world " << seed << "; with these faults alone: make world " << seed
       << " FAULTS=" << (faults.empty() ? "none" : numbers) << '\n';
}

}  // namespace rate_limit::world
