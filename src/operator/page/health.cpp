#include "operator/page/health.h"

#include <algorithm>
#include <string_view>

#include "core/text/figure_text.h"
#include "core/text/readable.h"
#include "operator/figures/minutes.h"

namespace rate_limit {

namespace {

using Findings = std::vector<Finding>;

/// The most nodes that are named one by one.
constexpr std::size_t most_named = 3;

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
    for (std::size_t i = 0; i < std::min(down.size(), most_named); ++i) {
        const NodeBoard::Told& told = down[i].node->node;
        const std::uint64_t waiting = down[i].shard->windows;
        findings.push_back(
            {(told.primary ? "primary " : "replica ") + readable(told.address) + " of " +
                 name_of(*down[i].shard) + " has been down for " + duration(found.now - told.since),
             told.primary && waiting != 0 ? "Charges of " + counted(waiting, "window") + " wait for it."
                                          : std::string()});
    }
    if (down.size() > most_named) {
        findings.push_back({counted(down.size() - most_named, "more node") + " of " + grouped(nodes) +
                                (down.size() - most_named == 1 ? " is down" : " are down"),
                            "They are among the stores below."});
    }
}

/// Until a worker has asked for it, none knows the nodes of a shard that other servers name.
void find_no_primary(const AllFigures& found, Findings& findings) {
    for (const AllFigures::OfShard& shard : found.shards) {
        if (!shard.nodes.empty() && std::none_of(shard.nodes.begin(), shard.nodes.end(),
                                                 [](const auto& node) { return node.node.primary; })) {
            findings.push_back(
                {"no primary is known of " + name_of(shard), "Nothing can be charged there until one is."});
        }
    }
}

void find_errors(const AllFigures& found, Findings& findings) {
    for (const AllFigures::OfLimit& limit : found.limits) {
        std::uint64_t all = 0;
        for (const std::uint64_t count : limit.lately) {
            all += count;
        }
        const std::uint64_t errors = limit.lately[Minute::errors];
        if (is_over(errors, all, 1)) {
            findings.push_back(
                {name_of(*limit.tally) + " could not be decided for " + share(errors, all) +
                     " of its requests" + lately(AllFigures::error_minutes),
                 grouped(errors) + " of " + grouped(all) + ": \"rate_limit_on_error\" decided about these."});
        }
    }
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
    for (const AllFigures::OfLimit& limit : found.limits) {
        if (limit.tally->counters.misses_in_a_row() == CounterTable::most_in_a_row) {
            notes.push_back({name_of(*limit.tally) + " limits nobody: the key of its last " +
                                 std::to_string(CounterTable::most_in_a_row) + " requests was empty",
                             "Where that is not meant, look at the variables of its key."});
        }
    }
}

using Check = void (*)(const AllFigures& found, Findings& findings);

/// Checks for what can be wrong, the worst first.
constexpr Check checks[] = {find_nodes_down, find_no_primary, find_errors, find_lost_writes, find_no_room};

constexpr Check remarks[] = {find_no_keys, find_overrides, find_dry_runs};

std::string sentence(std::string text) {
    if (text.front() >= 'a' && text.front() <= 'z') {
        text.front() = static_cast<char>(text.front() - 'a' + 'A');
    }
    return text + ".";
}

std::string line_of(const Findings& wrong) {
    if (wrong.empty()) {
        return "Nothing is wrong.";
    }
    if (wrong.size() == 1) {
        return sentence(wrong.front().what);
    }
    std::string line = grouped(wrong.size()) + " things are wrong: ";
    for (std::size_t i = 0; i < std::min(wrong.size(), most_named); ++i) {
        line.append(i == 0 ? "" : "; ").append(wrong[i].what);
    }
    return wrong.size() <= most_named ? line + "."
                                      : line + "; and " + grouped(wrong.size() - most_named) + " more.";
}

void write_list(HtmlText& html, std::string_view kind, const Findings& findings) {
    html.open("ul", {{"class", kind}});
    for (const Finding& finding : findings) {
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
    health.line = line_of(health.wrong);
    return health;
}

void write_health(HtmlText& html, const Health& health) {
    html.open("div", {{"class", health.wrong.empty() ? "health good" : "health bad"}});
    html.element("h1", health.line);
    const bool said = health.wrong.size() == 1 && health.wrong.front().more.empty();
    if (health.wrong.size() == 1 && !said) {
        html.element("p", health.wrong.front().more, {{"class", "more"}});
    }
    if (health.wrong.size() > 1) {
        write_list(html, "wrong", health.wrong);
    }
    if (!health.notes.empty()) {
        write_list(html, "notes", health.notes);
    }
    html.close();
}

}  // namespace rate_limit
