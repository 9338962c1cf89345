#include "t/worlds/turn_watch.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/machine/workers/note_walk.h"
#include "limiter/charges/charges.h"

namespace rate_limit::world {

namespace {

/// A reason asks a server about each limit once, and once more where something goes before it, or where a
/// script has to decide what a plain command could not. What is asked again goes to another server. A limit
/// with penalties is two: a server is asked about those, too, and told of them.
constexpr std::uint64_t commands_a_reason = 2;

/// Writes that have waited for the end of a fault leave as one command for each window: its charges, or its
/// refunds.
constexpr std::uint64_t commands_a_window = 2;

/// What has waited for the end of a fault leaves in the second after it, of so many seconds at most.
constexpr std::size_t seconds_of_faults = calms_in / second;

/// Refunds to a bucket leave one by one, as each is worth what its own time says. And a worker that has stood
/// still asks the script about each plain increment above a limit, whose answers have waited for it.
bool may_wait_one_by_one(const Plan& plan) {
    const auto& limits = plan.traffic.limits;
    return plan.machines.has(MachineFault::stall) ||
           std::any_of(limits.begin(), limits.end(),
                       [](const LimitSetup& limit) { return limit.burst != 0; });
}

std::size_t with_penalties(const Plan& plan) {
    return static_cast<std::size_t>(
        std::count_if(plan.traffic.limits.begin(), plan.traffic.limits.end(),
                      [](const LimitSetup& limit) { return limit.penalty != 0; }));
}

/// What nobody has spent of a batch goes back without a reason, from each machine, a command for each window.
std::size_t with_tokens(const Plan& plan) {
    return static_cast<std::size_t>(
        std::count_if(plan.traffic.limits.begin(), plan.traffic.limits.end(),
                      [](const LimitSetup& limit) { return limit.mode == "lease"; }));
}

/// A worker that nobody asks anything sends so many commands to a server in a second: greetings, probes,
/// questions where servers are.
constexpr std::uint64_t commands_of_its_own = 30;
constexpr std::uint64_t connections_of_its_own = 10;

bool begins(std::string_view line, std::string_view with) noexcept {
    return line.substr(0, with.size()) == with;
}

std::vector<std::uint64_t> numbers_in(std::string_view line) {
    std::vector<std::uint64_t> numbers;
    for (const char* at = line.data(); at != line.data() + line.size();) {
        std::uint64_t number = 0;
        const auto parsed = std::from_chars(at, line.data() + line.size(), number);
        if (parsed.ec == std::errc()) {
            numbers.push_back(number);
        }
        at = parsed.ec == std::errc() ? parsed.ptr : at + 1;
    }
    return numbers;
}

}  // namespace

TurnWatch::TurnWatch(const Events& events, const Plan& plan, ToldLosses& losses, FarTruths& far,
                     Truths& truths, EventLog& log)
    : events_(events),
      plan_(plan),
      losses_(losses),
      far_(far),
      truths_(truths),
      log_(log),
      lines_(events, plan, truths),
      questions_(plan.traffic.limits.size() + with_penalties(plan)),
      windows_(plan.traffic.limits.size() * static_cast<std::uint64_t>(plan.traffic.keys)),
      processes_(2 * plan.machines.clocks.size() * plan.machines.workers),
      tokens_(with_tokens(plan) * static_cast<std::uint64_t>(plan.traffic.keys) *
              plan.machines.clocks.size()),
      primaries_(plan.servers.sets.size()),
      remembered_(may_wait_one_by_one(plan) ? seconds_of_faults : 2) {
    Loop::observe(this);
}

TurnWatch::~TurnWatch() {
    Loop::observe(nullptr);
}

void TurnWatch::begin_second() {
    for (; second_ != events_.now() / second; ++second_) {
        reasons_.push_front(0);
        if (reasons_.size() > remembered_) {
            reasons_.pop_back();
        }
    }
}

void TurnWatch::count_reason() {
    begin_second();
    ++reasons_.front();
}

std::uint64_t TurnWatch::reasons() const {
    return std::accumulate(reasons_.begin(), reasons_.end(), std::uint64_t{0});
}

TurnWatch::Asked& TurnWatch::asked(const std::string& address) {
    begin_second();
    Asked& asked = asked_[address];
    if (asked.second != second_) {
        asked = {second_, 0, 0};
    }
    return asked;
}

void TurnWatch::check(std::uint64_t done, std::uint64_t most, const std::string& what) {
    if (done > most) {
        truths_.fail(std::to_string(done) + ' ' + what + ", of " + std::to_string(most) + " at most");
    }
}

void TurnWatch::on_command(const std::string& address, std::string_view command) {
    far_.on_command(address, command);
    const std::uint64_t waited =
        plan_.is_calm(events_.now()) ? tokens_ : commands_a_window * windows_ * processes_;
    check(++asked(address).commands,
          commands_a_reason * questions_ * reasons() + waited + commands_of_its_own * processes_,
          "commands for " + address + " in a second");
}

void TurnWatch::on_connect(const std::string& address) {
    far_.on_connect(address);
    check(++asked(address).connections, connections_of_its_own * (processes_ + started()),
          "connections to " + address + " in a second");
}

/// How many workers have taken the places of others in this second, or in the one before.
std::uint64_t TurnWatch::started() const noexcept {
    const auto recent = std::count_if(
        plan_.machines.faults.begin(), plan_.machines.faults.end(), [this](const Fault<MachineFault>& fault) {
            const bool replaces = fault.kind != MachineFault::stall &&
                                  fault.kind != MachineFault::clock_set &&
                                  fault.kind != MachineFault::partition;
            return replaces && fault.at <= events_.now() && fault.at >= events_.now() - 2 * second;
        });
    return static_cast<std::uint64_t>(recent) * plan_.machines.workers;
}

void TurnWatch::on_line(LogLevel level, std::string_view line) {
    log_.add("machine", Loop::current().machine, "logs:", line);
    far_.on_line(level, line);
    lines_.on_line(line);
}

/// Each slice tells what it has done.
void TurnWatch::on_debug_line(std::string_view line) {
    const std::vector<std::uint64_t> told = numbers_in(line);
    if (begins(line, "rate limit: looked at ") && told.size() == 3) {
        ++walks_;
        check(++turn_.walks, 1, "walks over notes in a turn");
        check(told[0], NoteWalk::sets_a_turn, "sets looked at in a turn");
        check(told[1], NoteWalk::looks_a_turn, "notes looked at in a turn");
        check(told[2], NoteWalk::refunds_a_turn, "notes given back in a turn");
    } else if (begins(line, "rate limit: sent ") && told.size() == 2) {
        turn_.waited += told[0];
        check(turn_.waited, Charges::max_waited * primaries_, "charges that waited sent in a turn");
        turn_.expired += told[1];
        check(turn_.expired, Charges::max_closed * primaries_, "charges expired in a turn");
    } else {
        throw std::logic_error("nothing is known of the line \"" + std::string(line) + '"');
    }
}

void TurnWatch::on_end_of_turn(const Loop& /*loop*/) {
    turn_ = {};
}

void TurnWatch::check_seen() {
    if (walks_ == 0) {
        truths_.fail("no worker has walked over its notes");
    }
}

}  // namespace rate_limit::world
