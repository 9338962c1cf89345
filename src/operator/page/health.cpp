#include "operator/page/health.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>

#include "core/text/figure_text.h"
#include "core/text/readable.h"
#include "operator/figures/minutes.h"

namespace rate_limit {

namespace {

using Findings = std::vector<Finding>;

/// The most nodes that are named one by one.
constexpr std::size_t most_down_named = 3;

std::string name_of(const AllFigures::OfShard& shard) {
    return "shard " + readable(shard.subject.shard) + " of store " + readable(shard.subject.store);
}

std::string name_of(const Tally& tally) {
    return "limit " + readable(tally.name) + " (store " + readable(tally.store_name) + ")";
}

std::string lately(std::size_t minutes) {
    return " in the last " + std::to_string(minutes) + " min";
}

bool is_over(std::uint64_t part, std::uint64_t whole, unsigned percent) noexcept {
    return whole != 0 && part > whole / 100 * percent + whole % 100 * percent / 100;
}

/// Those that name a node which is down come first, primaries before replicas.
void find_nodes_down(const AllFigures& found, Findings& findings) {
    struct Down {
        const AllFigures::OfShard* shard;
        const NodeFigures* node;
    };
    std::vector<Down> down;
    std::size_t nodes = 0;
    for (const AllFigures::OfShard& shard : found.shards) {
        nodes += shard.nodes.size();
        for (const NodeFigures& node : shard.nodes) {
            if (!node.node.up) {
                down.push_back({&shard, &node});
            }
        }
    }
    std::stable_sort(down.begin(), down.end(), [](const Down& a, const Down& b) {
        return a.node->node.primary && !b.node->node.primary;
    });
    for (std::size_t i = 0; i < std::min(down.size(), most_down_named); ++i) {
        const NodeBoard::Told& told = down[i].node->node;
        const std::uint64_t waiting = down[i].shard->windows;
        findings.push_back(
            {(told.primary ? "primary " : "replica ") + readable(told.address) + " of " +
                 name_of(*down[i].shard) + " has been down for " + duration(found.now - told.since),
             told.primary && waiting != 0 ? "Charges of " + counted(waiting, "window") + " wait for it."
                                          : std::string()});
    }
    if (down.size() > most_down_named) {
        findings.push_back({counted(down.size() - most_down_named, "more node") + " of " + grouped(nodes) +
                                (down.size() - most_down_named == 1 ? " is down" : " are down"),
                            "They are among the stores below."});
    }
}

/// Until a worker has asked for it, none knows the nodes of a shard that other servers name. Other regions
/// are not charged from here.
void find_no_primary(const AllFigures& found, Findings& findings) {
    for (const AllFigures::OfShard& shard : found.shards) {
        const bool is_charged = shard.store == nullptr || shard.store->home == nullptr;
        if (is_charged && !shard.nodes.empty() &&
            std::none_of(shard.nodes.begin(), shard.nodes.end(),
                         [](const auto& node) { return node.node.primary; })) {
            findings.push_back(
                {"no primary is known of " + name_of(shard), "Nothing can be charged there until one is."});
        }
    }
}

/// The fate of clients of a limit that could not be decided, as its counters tell it: rate_limit_on_error of
/// their locations decided.
std::string got(const Tally& tally) {
    struct Effect {
        Decided counter;
        std::string_view words;
    };
    constexpr Effect effects[] = {{Decided::error_allowed, "let through without a limit"},
                                  {Decided::error_denied, "answered 503"},
                                  {Decided::error_local, "counted here alone"}};
    std::string text;
    for (const Effect& effect : effects) {
        if (tally.counters.count(effect.counter) != 0) {
            text.append(text.empty() ? "" : " or ").append(effect.words);
        }
    }
    return text;
}

/// Limits whose clients get the same are told together.
void find_errors(const AllFigures& found, Findings& findings) {
    std::map<std::string, std::vector<const ToldLimit*>> by_effect;
    const auto all_of = [](const ToldLimit& limit) {
        return std::accumulate(limit.lately.begin(), limit.lately.end(), std::uint64_t{0});
    };
    for (const ToldLimit& limit : found.limits) {
        if (is_over(limit.lately[Minute::errors], all_of(limit), 1)) {
            by_effect[got(*limit.tally)].push_back(&limit);
        }
    }
    for (auto& [effect, limits] : by_effect) {
        std::stable_sort(limits.begin(), limits.end(), [](const ToldLimit* a, const ToldLimit* b) {
            return a->lately[Minute::errors] > b->lately[Minute::errors];
        });
        const ToldLimit& most = *limits.front();
        std::string what = name_of(*most.tally);
        what += limits.size() > 1 ? " and " + counted(limits.size() - 1, "more limit") : "";
        what += " could not be decided for " + share(most.lately[Minute::errors], all_of(most)) +
                (limits.size() > 1 ? " of the requests of the first" : " of its requests") +
                lately(AllFigures::error_minutes) + ": clients are " + effect;
        findings.push_back({std::move(what), "\"rate_limit_on_error\" decides so."});
    }
}

/// Far more is rejected than in the hour before.
void find_attacks(const AllFigures& found, Findings& findings) {
    constexpr std::uint64_t least = 50;
    constexpr std::uint64_t times = 5;
    constexpr std::uint64_t minutes = AllFigures::error_minutes;
    constexpr std::uint64_t before = LastHour::minutes - minutes;
    for (const ToldLimit& limit : found.limits) {
        const auto sum = [](const LastHour::Counts& counts) {
            return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
        };
        const std::uint64_t rejected = limit.lately[Minute::rejected];
        const std::uint64_t rejected_before = limit.hour[Minute::rejected] - rejected;
        const bool had_traffic = sum(limit.hour) != sum(limit.lately);
        if (had_traffic && rejected >= least && is_over(rejected, sum(limit.lately), 20) &&
            rejected * before >= times * rejected_before * minutes) {
            findings.push_back(
                {name_of(*limit.tally) + " rejects " + share(rejected, sum(limit.lately)) +
                     " of its requests" + lately(minutes) + ", " +
                     (rejected_before == 0 ? "and rejected none in the hour before"
                                           : grouped(rejected * before / (rejected_before * minutes)) +
                                                 " times as many a minute as in the hour before"),
                 "\"Rejected most\" names the keys."});
        }
    }
}

/// A node on which commands have failed, which came up lately: the end of an outage.
std::string up_again(const AllFigures& found) {
    constexpr Millis lately = Millis{AllFigures::error_minutes} * 60'000;
    const AllFigures::OfShard* shard = nullptr;
    const NodeFigures* last = nullptr;
    for (const AllFigures::OfShard& each : found.shards) {
        for (const NodeFigures& node : each.nodes) {
            if (node.node.up && node.has_failed() && found.now - node.node.since < lately &&
                (last == nullptr || node.node.since > last->node.since)) {
                shard = &each;
                last = &node;
            }
        }
    }
    return last == nullptr
               ? std::string()
               : (last->node.primary ? "primary " : "replica ") + readable(last->node.address) + " of " +
                     name_of(*shard) + " is up again for " + duration(found.now - last->node.since);
}

void find_lost_writes(const AllFigures& found, Findings& findings) {
    for (const AllFigures::OfShard& shard : found.shards) {
        const std::uint64_t dropped = shard.lost[LostWrites::dropped];
        const std::uint64_t in_doubt = shard.lost[LostWrites::in_doubt];
        if (dropped != 0) {
            findings.push_back({counted(dropped, "write") + " to " + name_of(shard) +
                                    (dropped == 1 ? " was" : " were") + " dropped" +
                                    lately(AllFigures::loss_minutes),
                                "They were charges and refunds, which count for nobody now."});
        }
        if (in_doubt != 0) {
            findings.push_back({counted(in_doubt, "write") + " to " + name_of(shard) +
                                    (in_doubt == 1 ? " is" : " are") + " in doubt" +
                                    lately(AllFigures::loss_minutes),
                                "They were sent and not answered: nobody knows whether they count."});
        }
    }
}

void find_no_room(const AllFigures& found, Findings& findings) {
    const auto pressure = [&](Pressure kind) { return found.pressure[static_cast<std::size_t>(kind)]; };
    constexpr std::string_view remedy = "Enlarge \"rate_limit_zone\"; the zone starts anew then.";
    const auto check_part = [&](std::string_view what, std::uint64_t open, std::uint64_t capacity) {
        if (is_over(open, capacity, 80)) {
            findings.push_back(
                {std::string("the zone's room for ")
                     .append(what)
                     .append(open >= capacity ? " is full" : " is to " + share(open, capacity) + " in use"),
                 std::string(remedy)});
        }
    };
    if (pressure(Pressure::full) != 0) {
        findings.push_back({"the zone was full " + counted(pressure(Pressure::full), "time") +
                                lately(AllFigures::loss_minutes),
                            std::string(remedy)});
    }
    if (pressure(Pressure::evicted_local) != 0) {
        findings.push_back({counted(pressure(Pressure::evicted_local), "open window") +
                                " of local limits had to be forgotten for want of room" +
                                lately(AllFigures::loss_minutes),
                            std::string(remedy)});
    }
    check_part("windows", found.memory.windows.open, found.memory.window_capacity);
    check_part("what waits", found.memory.waiting.open, found.memory.waiting_capacity);
}

void find_dry_runs(const AllFigures& found, Findings& notes) {
    const auto dry = std::count_if(found.limits.begin(), found.limits.end(),
                                   [](const auto& limit) { return is_dry(*limit.tally); });
    if (dry != 0) {
        notes.push_back({counted(static_cast<std::uint64_t>(dry), "limit") + " reject" +
                             (dry == 1 ? "s" : "") + " nobody: a dry run",
                         {}});
    }
}

void find_overrides(const AllFigures& found, Findings& notes) {
    if (!found.overrides.empty()) {
        notes.push_back({counted(found.overrides.size(), "override") +
                             (found.overrides.size() == 1 ? " holds" : " hold") +
                             ": operators have changed what limits do",
                         {}});
    }
}

void find_no_keys(const AllFigures& found, Findings& notes) {
    for (const ToldLimit& limit : found.limits) {
        if (limit.tally->counters.misses_in_a_row() == CounterTable::most_in_a_row) {
            notes.push_back({name_of(*limit.tally) + " limits nobody: the key of its last " +
                                 std::to_string(CounterTable::most_in_a_row) + " requests was empty",
                             "Where that is not meant, look at the variables of its key."});
        }
    }
}

using Check = void (*)(const AllFigures& found, Findings& findings);

/// Checks for what can be wrong: first what clients get.
constexpr Check checks[] = {find_errors,      find_nodes_down, find_no_primary,
                            find_lost_writes, find_attacks,    find_no_room};

constexpr Check remarks[] = {find_no_keys, find_overrides, find_dry_runs};

std::string sentence(std::string text) {
    if (text.front() >= 'a' && text.front() <= 'z') {
        text.front() = static_cast<char>(text.front() - 'a' + 'A');
    }
    return text + ".";
}

/// The first finding, how many more there are, and whether an outage is over.
std::string line_of(const Findings& wrong, const std::string& up_again) {
    std::string line = wrong.empty() ? "Nothing is wrong" : sentence(wrong.front().what);
    if (!wrong.empty()) {
        line.pop_back();
    }
    if (wrong.size() > 1) {
        line +=
            "; " + counted(wrong.size() - 1, "more thing") + (wrong.size() == 2 ? " is wrong" : " are wrong");
    }
    return line + (up_again.empty() ? "" : "; " + up_again) + ".";
}

void write_list(HtmlText& html, std::string_view kind, const Findings& findings, std::size_t first = 0) {
    html.open("ul", {{"class", kind}});
    for (std::size_t i = first; i < findings.size(); ++i) {
        const Finding& finding = findings[i];
        html.open("li").words(sentence(finding.what));
        if (!finding.more.empty()) {
            html.words(" ").element("span", finding.more, {{"class", "more"}});
        }
        html.close();
    }
    html.close();
}

}  // namespace

Health health_of(const AllFigures& found) {
    Health health;
    if (found.main.zone == nullptr) {
        health.line = "Nothing is limited: the configuration has no \"rate_limit\" in effect.";
        return health;
    }
    for (const Check check : checks) {
        check(found, health.wrong);
    }
    for (const Check remark : remarks) {
        remark(found, health.notes);
    }
    health.line = line_of(health.wrong, up_again(found));
    return health;
}

void write_health(HtmlText& html, const Health& health) {
    html.open("div", {{"class", health.wrong.empty() ? "health good" : "health bad"}});
    html.element("h1", health.line);
    if (!health.wrong.empty() && !health.wrong.front().more.empty()) {
        html.element("p", health.wrong.front().more, {{"class", "more"}});
    }
    if (health.wrong.size() > 1) {
        write_list(html, "wrong", health.wrong, 1);
    }
    if (!health.notes.empty()) {
        write_list(html, "notes", health.notes);
    }
    html.close();
}

}  // namespace rate_limit
