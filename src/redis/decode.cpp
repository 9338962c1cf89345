#include "redis/decode.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "redis/server_words.h"

namespace rate_limit {
namespace {

struct Code {
    std::string_view word;
    Fault fault;
};

constexpr Code codes[] = {
    {"NOTIME", Fault::notime},
    {"NOSCRIPT", Fault::noscript},
    {"READONLY", Fault::readonly},
    {"LOADING", Fault::loading},
    {"MASTERDOWN", Fault::masterdown},
    {"MOVED", Fault::moved},
    {"ASK", Fault::ask},
    {"CLUSTERDOWN", Fault::clusterdown},
    {"CROSSSLOT", Fault::moved},
    {"TRYAGAIN", Fault::tryagain},
    {"NOAUTH", Fault::auth},
    {"WRONGPASS", Fault::auth},
    {"DENIED", Fault::denied},
    {"BUSY", Fault::busy},
    {"OOM", Fault::oom},
    {"WRONGTYPE", Fault::wrongtype},
    {"MISCONF", Fault::unwilling},
    {"NOREPLICAS", Fault::unwilling},
};

/// The part at fault; `writes` stands for a node that perhaps only refuses them.
enum class Blames : std::uint8_t { reply, node, writes };

/// Whether the command may have been executed.
enum class Executed : std::uint8_t { perhaps, no };

struct Traits {
    std::string_view name;
    Blames blames;
    Executed executed;
    const char* meaning;
};

/// In the order of Fault.
constexpr Traits traits[] = {
    {"none", Blames::reply, Executed::perhaps, "no error"},
    {"malformed", Blames::reply, Executed::perhaps,
     "malformed: its answer is not what the command promises; is it Redis?"},
    {"notime", Blames::reply, Executed::no, "notime: its scripts may not call TIME"},
    {"noscript", Blames::reply, Executed::no, "noscript: it does not keep scripts"},
    {"readonly", Blames::writes, Executed::no, "readonly: it is a replica now"},
    {"loading", Blames::node, Executed::no, "loading: it reads its data"},
    {"masterdown", Blames::node, Executed::no, "masterdown: it has no primary and may not serve stale data"},
    {"moved", Blames::node, Executed::no,
     "moved: another node of its Redis Cluster serves the slot: if \"shard\" names it, use \"cluster\""},
    {"ask", Blames::node, Executed::no,
     "ask: its Redis Cluster is moving the slot: if \"shard\" names it, use \"cluster\""},
    {"clusterdown", Blames::node, Executed::no,
     "clusterdown: its Redis Cluster is down, or nobody in it serves the slot"},
    {"tryagain", Blames::node, Executed::no, "tryagain: its Redis Cluster is moving the slot"},
    {"auth", Blames::node, Executed::no, "auth: see username and password"},
    {"denied", Blames::node, Executed::no,
     "denied: it takes no more clients (see its maxclients), or none from this address (see its "
     "protected-mode)"},
    {"noperm", Blames::writes, Executed::no, "noperm: its user may not run all the commands that are needed"},
    {"busy", Blames::node, Executed::perhaps, "busy: a script runs for too long"},
    {"oom", Blames::writes, Executed::no, "oom: its maxmemory is reached"},
    {"unwilling", Blames::writes, Executed::no, "unwilling: it takes no writes for now"},
    {"nolua", Blames::writes, Executed::no,
     "nolua: it runs no Lua scripts, by which all is charged: use a server that is built with Lua, and "
     "rename neither EVAL nor EVALSHA"},
    {"wrongtype", Blames::reply, Executed::perhaps,
     "wrongtype: the key holds something else, which a charge or reservation replaces; is the prefix used by "
     "others?"},
    {"other", Blames::reply, Executed::perhaps, "another error"},
};
static_assert(std::size(traits) == fault_count, "each fault has its line");

constexpr const Traits& traits_of(Fault fault) noexcept {
    return traits[static_cast<std::size_t>(fault)];
}

/// How servers that have no error code for it refuse a password.
constexpr std::string_view auth_errors[] = {"ERR AUTH ", "ERR invalid password", "ERR Client sent AUTH"};
constexpr std::string_view no_more_clients = "ERR max number of clients";

/// The words of servers when the user may not access a key, in a script or outside. Such an error says
/// nothing about other keys.
constexpr std::string_view key_refusals[] = {"access one of the keys", "access at least one of the keys",
                                             "access a key"};

/// The words of servers when the user may not call a command inside a script, behind `ERR ` since Redis 7.0:
/// up to 7.0, then later versions.
constexpr std::string_view script_refusals[] = {"The user executing the script", "ACL failure in script"};

bool starts_with(std::string_view text, std::string_view start) noexcept {
    return text.substr(0, start.size()) == start;
}

bool is_of_key(std::string_view text) noexcept {
    return std::any_of(std::begin(key_refusals), std::end(key_refusals),
                       [text](std::string_view words) { return text.find(words) != std::string_view::npos; });
}

bool is_of_script(std::string_view text) noexcept {
    return std::any_of(std::begin(script_refusals), std::end(script_refusals),
                       [text](std::string_view start) { return starts_with(text, start); });
}

/// Whether an unwrapped error says that the user lacks a right: to a command, or to a key.
bool lacks_right(std::string_view text) noexcept {
    return text.substr(0, text.find(' ')) == "NOPERM" ||
           is_of_script(text.substr(starts_with(text, "ERR ") ? 4 : 0));
}

/// Whether a server says that it has no Lua: it knows neither EVAL nor EVALSHA, or it is a Valkey whose
/// scripting engine is not loaded.
bool is_without_lua(std::string_view text) noexcept {
    constexpr std::string_view unknown = "ERR unknown command ";
    constexpr std::string_view eval = "eval";
    if (starts_with(text, "ERR Could not find scripting engine")) {
        return true;
    }
    if (!starts_with(text, unknown) || text.size() <= unknown.size() + eval.size()) {
        return false;
    }
    const std::string_view name = text.substr(unknown.size() + 1, eval.size());  // behind a quote
    return std::equal(eval.begin(), eval.end(), name.begin(),
                      [](char lower, char any) { return lower == any || lower == any + ('a' - 'A'); });
}

/// The error of a command that a script called. Before 7.0 Redis says first where the script stands, once for
/// its own replies, whose first byte it keeps, and once more for what the script does not catch:
/// `ERR Error running script (call to f_1): @user_script:9: @user_script: 9: -OOM …`.
std::string_view unwrap(std::string_view text) noexcept {
    constexpr std::string_view place = "@user_script:";
    const std::string_view whole = text;
    if (starts_with(text, "ERR Error running script")) {
        text = text.substr(std::min(text.find(place), text.size()));
    }
    while (starts_with(text, place)) {
        const std::size_t end = text.find(": ", place.size());
        if (end == std::string_view::npos) {
            return whole;
        }
        text.remove_prefix(end + 2);
    }
    const bool keeps_byte = text.size() < whole.size() && starts_with(text, "-");
    return text.substr(keeps_byte ? 1 : 0);
}

}  // namespace

std::string_view to_string(Fault fault) noexcept {
    return traits_of(fault).name;
}

const char* explain(Fault fault) noexcept {
    return traits_of(fault).meaning;
}

const char* explain(Fault fault, const Reply& reply) noexcept {
    return lacks_key_right(reply) ? "noperm: its user may not access the key" : explain(fault);
}

Fault fault_of(const Reply& reply) noexcept {
    if (!reply.is_error()) {
        return Fault::none;
    }
    for (std::string_view start : auth_errors) {
        if (starts_with(reply.text_view(), start)) {
            return Fault::auth;
        }
    }
    if (starts_with(reply.text_view(), no_more_clients)) {
        return Fault::denied;
    }
    if (is_without_lua(reply.text_view())) {
        return Fault::nolua;
    }
    const std::string_view text = unwrap(reply.text_view());
    if (lacks_right(text)) {
        return is_of_key(text) ? Fault::other : Fault::noperm;
    }
    const std::string_view word = text.substr(0, text.find(' '));
    for (const Code& code : codes) {
        if (word == code.word) {
            return code.fault;
        }
    }
    return Fault::other;
}

bool is_of_slot(Fault fault) noexcept {
    return fault == Fault::moved || fault == Fault::ask || fault == Fault::clusterdown ||
           fault == Fault::tryagain;
}

bool is_node_fault(Fault fault) noexcept {
    return traits_of(fault).blames != Blames::reply;
}

bool refuses_writes(Fault fault) noexcept {
    return traits_of(fault).blames == Blames::writes;
}

bool is_refusal(Fault fault) noexcept {
    return traits_of(fault).executed == Executed::no;
}

bool lacks_right_within(const Reply& reply) noexcept {
    constexpr std::string_view code = "NOPERM ";
    const std::string_view text = reply.text_view();
    return fault_of(reply) == Fault::noperm &&
           (!starts_with(text, code) || is_of_script(text.substr(code.size())));
}

bool lacks_key_right(const Reply& reply) noexcept {
    const std::string_view text = reply.is_error() ? unwrap(reply.text_view()) : std::string_view();
    return lacks_right(text) && is_of_key(text);
}

bool answers_ping(const Reply& reply) noexcept {
    return !reply.is_error() || starts_with(reply.text_view(), "MISCONF ");
}

Fault fault_of_array(const Reply& reply, std::size_t count) noexcept {
    const bool sound = reply.is_array() && !reply.malformed && reply.count == count;
    return reply.is_error() ? fault_of(reply) : sound ? Fault::none : Fault::malformed;
}

Fault read_check(const Reply& reply, Window& window) noexcept {
    const Fault fault = fault_of_array(reply, 2);
    const ReplyValue& used = reply.values[0];
    const ReplyValue& reset = reply.values[1];
    const bool sound = (used.is_count() || used.kind == ReplyValue::Kind::nil) && reset.is_count();
    window = fault == Fault::none && sound ? Window{used.integer, reset.integer} : Window{};
    return fault == Fault::wrongtype ? Fault::none : fault;
}

Fault read_increment(const Reply& reply, std::int64_t& used) noexcept {
    used = 0;
    if (reply.is_error()) {
        return fault_of(reply);
    }
    if (reply.head.type != REDIS_REPLY_INTEGER || reply.malformed || reply.values[0].integer < 0) {
        return Fault::malformed;
    }
    used = reply.values[0].integer;
    return Fault::none;
}

bool is_broken_count(const Reply& reply) noexcept {
    const std::string_view text = reply.text_view();
    return reply.is_error() &&
           (text.find("not an integer") != std::string_view::npos ||
            text.find("overflow") != std::string_view::npos || fault_of(reply) == Fault::wrongtype);
}

bool evicts(std::string_view info) noexcept {
    const std::string_view limit = info_value(info, "maxmemory");
    const std::string_view policy = info_value(info, "maxmemory_policy");
    std::uint64_t bytes = 0;
    std::from_chars(limit.data(), limit.data() + limit.size(), bytes);
    return bytes > 0 && !policy.empty() && policy != "noeviction";
}

}  // namespace rate_limit
