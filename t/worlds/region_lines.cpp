#include "t/worlds/region_lines.h"

#include <algorithm>

#include "t/world/loop.h"

namespace rate_limit::world {

namespace {

/// A line may come so long after what it says.
constexpr Micros line_late = 2 * second;

/// By then workers that start with the world are connected.
constexpr Micros connected_in = 4 * second;

bool has(std::string_view line, std::string_view words) {
    return line.find(words) != std::string_view::npos;
}

bool starts_with(std::string_view text, std::string_view with) {
    return text.substr(0, with.size()) == with;
}

/// It says that something fails, and not that this was so before.
bool blames(std::string_view line) {
    const bool fails = has(line, " is down") || has(line, " does not serve") || has(line, " does not answer");
    return fails && !has(line, "outages since") && !has(line, "(it is over)");
}

}  // namespace

void RegionLines::on_line(std::string_view line) {
    if (!plan_.sites.regional) {
        return;
    }
    std::vector<std::string> servers;
    for (std::size_t server = 0; server < plan_.servers.count_servers(); ++server) {
        servers.push_back(address_of_server(server));
    }
    check_names(line, "primary ", servers);
    check_names(line, "replica ", servers);
    check_names(line, "sentinel ", plan_.servers.sentinels);
    if (has(line, "counted in another region")) {
        fail(line, "no server has the data of another region");
    }
    check_blame(line);
}

/// Each server that the line names.
void RegionLines::check_names(std::string_view line, std::string_view role,
                              const std::vector<std::string>& addresses) {
    for (std::size_t at = line.find(role); at != std::string_view::npos; at = line.find(role, at + 1)) {
        const std::string_view rest = line.substr(at + role.size());
        const std::string_view address = rest.substr(0, rest.find(' '));
        const auto found = std::find(addresses.begin(), addresses.end(), address);
        const auto number = static_cast<std::size_t>(found - addresses.begin());
        if (found != addresses.end() && !is_of(number, role == "sentinel ", rest.substr(address.size()))) {
            fail(line, "it is one of another region or shard");
        }
    }
}

/// ` of shard "a" of "main/r1"` follows its address, or ` of "main/r1"`.
bool RegionLines::is_of(std::size_t server, bool sentinel, std::string_view rest) const {
    const std::size_t regions = plan_.sites.count;
    const std::size_t set = sentinel ? 0 : plan_.servers.set_of(server);
    const std::size_t region =
        sentinel ? plan_.sites.region_of_sentinel(server) : plan_.servers.region_of_set(set, regions);
    const bool here = region == plan_.sites.region_of(Loop::current().machine);
    const std::size_t shard = set % (plan_.servers.sets.size() / regions);
    const std::string name = here ? "main" : "main/r" + std::to_string(region);
    const std::string of_shard = " of shard \"" + std::string(1, static_cast<char>('a' + shard)) + '"';
    const bool names_shard = starts_with(rest, " of shard ") && !sentinel;
    return !starts_with(rest, " of ") ||
           starts_with(rest, (names_shard ? of_shard : "") + " of \"" + name + '"');
}

void RegionLines::check_blame(std::string_view line) {
    const Micros now = events_.now();
    const std::optional<std::size_t> region = region_blamed(line);
    if (!region || now < connected_in || may_fail_late(line)) {
        return;
    }
    const std::size_t here = plan_.sites.region_of(Loop::current().machine);
    if (troubles_.reads(here, *region, now - line_late, now)) {
        fail(line, "nothing is wrong between it and the region");
    }
}

/// It names a server that is gone, or one of whose connections ends with the bytes that come next.
bool RegionLines::may_fail_late(std::string_view line) const {
    const std::vector<Fault<ServerFault>>& faults = plan_.servers.faults;
    return std::any_of(faults.begin(), faults.end(), [&](const Fault<ServerFault>& fault) {
        return (fault.kind == ServerFault::gone || fault.kind == ServerFault::cut) &&
               fault.at <= events_.now() && has(line, ' ' + address_of_server(fault.where) + ' ');
    });
}

/// That which the line says to fail, or whose server; none: it says so of nobody.
std::optional<std::size_t> RegionLines::region_blamed(std::string_view line) const {
    if (!blames(line)) {
        return std::nullopt;
    }
    for (std::size_t region = 0; region < plan_.sites.count; ++region) {
        const std::string name = "r" + std::to_string(region) + '"';
        if (has(line, " of \"main/" + name) || has(line, "region \"" + name)) {
            return region;
        }
    }
    return has(line, " of \"main\"") ? std::optional(plan_.sites.region_of(Loop::current().machine))
                                     : std::nullopt;
}

void RegionLines::fail(std::string_view line, const char* why) {
    truths_.fail("machine " + std::to_string(Loop::current().machine) + " logs \"" + std::string(line) +
                 "\": " + why);
}

}  // namespace rate_limit::world
